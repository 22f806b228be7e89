import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from './folders.ts'
import { shareProcesses, writeEntry } from './shared-processes.ts'

const PASSES = `import { it } from 'node:test'\nit('passes', () => {})`
const FAILS = `import { it } from 'node:test'\nit('passes', () => {})\nit('fails', () => { throw new Error('on purpose') })`

describe('test files that share processes', () => {
  it('are all run, each once', () => {
    const files = globSync('packages/*/test/**/*.test.ts', { exclude: ['**/node_modules/**'] }).sort()
    const { entries, alone } = shareProcesses(files)
    const inside = entries.flatMap(entry =>
      JSON.parse(/runTogether\((.*)\)/.exec(readFileSync(entry, 'utf8'))?.[1] ?? ''),
    )
    assert.deepEqual([...alone, ...inside].toSorted(), files)
    assert.ok(entries.length > 10 && inside.length > 5 * entries.length)
  })

  it('are told apart when one fails', () => {
    using folder = temporaryFolder()
    const files = ['first', 'second', 'third'].map(name => join(folder.path, `${name}.test.ts`))
    files.forEach((file, index) => void writeFileSync(file, index === 1 ? FAILS : PASSES))
    const entry = writeEntry('for-a-test/', 1, files)
    try {
      const reporter = `--test-reporter=${import.meta.dirname}/failed-files.ts`
      const { stdout, status } = spawnSync(process.execPath, ['--test', reporter, entry], {
        env: { ...process.env, NODE_TEST_CONTEXT: undefined },
        encoding: 'utf8',
      })
      assert.deepEqual([stdout, status], [`${files[1]}\n`, 1])
    } finally {
      rmSync(entry)
    }
  })
})
