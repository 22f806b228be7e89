import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, it } from 'node:test'
import { isRunning } from '../is-running.ts'
import { type Script, spawnScript } from '../processes.ts'
import { until } from '../until.ts'

const MAIN = new URL('../../bench/checkpoints/main.ts', import.meta.url)

const run = (...args: string[]): Script => spawnScript(MAIN, args)

/** In the order of their names. */
const foldersOf = (): string[] => readdirSync(tmpdir()).filter(name => /^tidemark-(test|postgres)-/.test(name))

describe('npm run checkpoint', () => {
  it('prints help and the list, and refuses an unknown name with code 2', async () => {
    const [help, list, unknown] = [run('--help'), run('--list'), run('no-such')]
    const codes = await Promise.all([help, list, unknown].map(async each => (await each.exited).code))
    assert.deepEqual(codes, [0, 0, 2])
    assert.match(help.lines.join('\n'), /Exit codes: 0 all criteria are met, 1 one is not/)
    assert.equal(list.lines.length, 10)
    assert.match(unknown.errorLines.join('\n'), /There is no checkpoint 'no-such'/)
  })

  it('stops at Ctrl-C with code 130, and leaves neither processes nor folders', async () => {
    const before = new Set(foldersOf())
    await using script = run('restart-storm', '--engine', 'sqlite')
    await until(() => script.errorLines.some(line => line.includes('starting 100 consumers')), {
      timeout: 60_000,
      what: 'the consumers to be started',
    })
    const made = foldersOf().filter(name => !before.has(name))
    script.kill('SIGINT')
    assert.equal((await script.exited).code, 130)
    assert.match(script.errorLines.join('\n'), /Stopped\. Nothing was judged\./)
    await until(() => made.every(name => !foldersOf().includes(name)), { what: 'its folders to be removed' })
    assert.equal(isRunning(script.pid), false)
  })
})
