/** What the suites say of an engine that breaks a promise, and of one that can't do everything. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { conformanceSuites } from 'tidemark/conformance'
import { type Script, spawnScript } from '../../../../testing/processes.ts'

describe('the conformance suites', () => {
  it('are those that run on the built-in engines, all of them', () => {
    const folders = ['conformance', 'crash', 'model'].map(name => new URL(`../${name}/`, import.meta.url))
    const files = folders.flatMap(folder =>
      readdirSync(folder).map(name => readFileSync(new URL(name, folder), 'utf8')),
    )
    const run = files.flatMap(text => text.match(/^\w+(?=\(BUILT_IN\)$)/m) ?? [])
    assert.deepEqual(run.toSorted(), conformanceSuites.toSorted())
  })

  it('pass an engine that keeps its promises', async () => {
    await using run = runSuites(['size', 'groupLease'])
    assert.equal((await run.exited).code, 0, run.lines.join('\n'))
    assert.equal(countOf(run, 'fail'), 0)
    assert.ok(countOf(run, 'pass') > 0)
  })

  it('fail one that drops an ack now and then', async () => {
    await using run = runSuites(['commandModel'], {
      TOY_DROPPED_ACK: '100',
      TIDEMARK_TEST_SEED: '1',
      TIDEMARK_TEST_UNSHRUNK: '1',
    })
    assert.equal((await run.exited).code, 1)
    assert.ok(countOf(run, 'fail') > 0)
  })

  it('skip what one cannot do, and say why', async () => {
    await using run = runSuites(['completion', 'messageIdentity'], { TOY_WITHOUT_TRACKING: '1' })
    assert.equal((await run.exited).code, 0, run.lines.join('\n'))
    assert.match(run.lines.join('\n'), /# SKIP no tracking: not built yet/)
    assert.match(run.lines.join('\n'), /# SKIP the database has no hook 'begin'/)
  })
})

function runSuites(suites: readonly string[], env: Record<string, string> = {}): Script {
  const nodeFlags = ['--test-reporter=tap']
  return spawnScript(new URL('run-suites.ts', import.meta.url), suites, { nodeFlags, env })
}

/** As the last lines of the report say. */
const countOf = ({ lines }: Script, kind: 'pass' | 'fail'): number =>
  Number(lines.findLast(line => line.startsWith(`# ${kind} `))?.slice(`# ${kind} `.length))
