import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../testing/databases.ts'
import { spawnScript } from '../testing/processes.ts'

const at = (path: string): URL => new URL(path, import.meta.url)

describe('the quick start', () => {
  it('does what its comments say', async () => {
    using folder = temporaryFolder()
    await using script = spawnScript(at('quickstart.ts'), [], { cwd: folder.path })
    const { code } = await script.exited
    assert.equal(code, 0)
    assert.deepEqual([...script.lines].sort(), ['billing: 12.5 for order 7', 'email: order 7 (attempt 1)'])
  })

  it('is what the README shows', () => {
    const readme = readFileSync(at('../README.md'), 'utf8')
    assert.ok(
      readme.includes(readFileSync(at('quickstart.ts'), 'utf8')),
      'README.md differs from examples/quickstart.ts',
    )
  })
})

describe('the demonstration', () => {
  it('kills a group, recovers it and loses nothing', async () => {
    await using script = spawnScript(at('demo/main.ts'), ['--seconds', '3'])
    const { code } = await script.exited
    const output = script.lines.join('\n')
    assert.match(output, /SIGKILL to billing/)
    assert.match(output, /billing is back/)
    assert.match(output, /all \d+ messages were processed by all 3 groups; none is lost/)
    assert.equal(code, 0)
  })

  it('lists its options', async () => {
    await using help = spawnScript(at('demo/main.ts'), ['--help'])
    assert.equal((await help.exited).code, 0)
    assert.match(help.lines.join('\n'), /--seconds/)
    await using wrong = spawnScript(at('demo/main.ts'), ['--seconds', 'soon'])
    assert.equal((await wrong.exited).code, 1)
  })
})
