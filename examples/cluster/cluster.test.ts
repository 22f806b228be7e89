import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { type IndexDatabase, makeRunId, openIndex } from '@tidemark/pipeline'
import { temporaryFolder } from '../../testing/folders.ts'
import { isRunning } from '../../testing/is-running.ts'
import { isLong } from '../../testing/long.ts'
import { skipWithoutNats } from '../../testing/nats-binary.ts'
import { spawnScript } from '../../testing/processes.ts'
import { skipWithoutRadosgw } from '../../testing/radosgw.ts'
import { until } from '../../testing/until.ts'
import { ArgumentError, readArguments } from './arguments.ts'
import { compareIndexes } from './compare.ts'
import { Role } from './role.ts'
import { requireServers, ServerMissingError } from './servers.ts'

describe('the arguments of the cluster', () => {
  it('have defaults', () => {
    assert.deepEqual(readArguments([]), { topics: 'postgres', ticks: 600, seed: 'reef', keep: false })
    const given = ['--topics', 'nats', '--ticks', '1000', '--seed', '7', '--keep']
    assert.deepEqual(readArguments(given), { topics: 'nats', ticks: 1_000, seed: '7', keep: true })
    assert.equal(readArguments(['--help']), undefined)
  })

  for (const wrong of [
    ['--topics', 'kafka'],
    ['--ticks', 'many'],
    ['--ticks', '20'],
    ['--seed', ''],
    ['--tick'],
    ['x'],
  ]) {
    it(`refuse ${wrong.join(' ')}`, () => {
      assert.throws(() => readArguments(wrong), ArgumentError)
    })
  }
})

/** With a ledger, and nothing in it. */
async function index(folder: string, runId: string): Promise<IndexDatabase> {
  const index = await openIndex(`sqlite:${folder}`, runId)
  await index.ledger.open('environment', { samplingInterval: 1, firstTick: 0 })
  return index
}

describe('the comparison of two indexes', () => {
  it('finds equal ones equal, and notices one changed row, a missing row and a missing table', async () => {
    using folder = temporaryFolder()
    const runId = makeRunId()
    await using a = await index(`${folder.path}/a`, runId)
    await using b = await index(`${folder.path}/b`, runId)
    const change = (sql: string) => b.transaction(async tx => void (await tx.run(sql)))
    const same = await compareIndexes(a, b)
    assert.deepEqual(same.differences, [])
    assert.ok(same.rows >= 2 && same.tables > 5, JSON.stringify(same))
    await change('update batch_ledger set completed = 7')
    const changed = await compareIndexes(a, b)
    assert.equal(changed.differences.length, 1)
    assert.match(changed.differences[0] ?? '', /^batch_ledger .*the first difference is row 1\n.*"0".*\n.*"7"/)
    await change('delete from batch_ledger')
    assert.match((await compareIndexes(a, b)).differences.join(), /1 rows on the cluster, 0 on the single machine/)
    await change('drop table batch_arrived')
    assert.match((await compareIndexes(a, b)).differences.join(), /the cluster has the table batch_arrived/)
  })
})

describe('a machine of the cluster', () => {
  it('that ends by itself is a failure, with the end of its log; one that was killed is none', async () => {
    using folder = temporaryFolder()
    const environment = { PATH: process.env.PATH ?? '' }
    const role = new Role({ name: 'indexer 1', args: ['no-such-command'], environment, parent: folder.path })
    role.start()
    await until(() => !role.isRunning, { what: 'the role to end' })
    assert.match(role.failure() ?? '', /^indexer 1 ended with exit code 2\..*\n.*no-such-command/s)
    await role.kill()
    assert.equal(role.failure(), undefined)
  })

  it('needs servers, which are named where they are missing', t => {
    t.mock.property(process, 'env', { ...process.env, PATH: '/nowhere' })
    const args = { topics: 'postgres', ticks: 600, seed: 'reef', keep: false } as const
    assert.throws(() => requireServers(args), ServerMissingError)
    assert.throws(() => requireServers(args), /packages radosgw, ceph-mon and ceph-osd/)
  })
})

const MAIN = new URL('main.ts', import.meta.url)

/** Minutes: only in `npm run test:long`. */
const skipWithoutServers = isLong ? skipWithoutRadosgw() : 'TIDEMARK_TEST_LONG=1 runs it'

describe('the cluster', () => {
  for (const topics of ['postgres', 'nats']) {
    const skip = skipWithoutServers || (topics === 'nats' && skipWithoutNats())
    it(`has the index of a single machine after its roles were killed, with topics on ${topics}`, {
      skip,
    }, async () => {
      await using script = spawnScript(MAIN, ['--topics', topics, '--ticks', '300'])
      const { code } = await script.exited
      const output = script.lines.join('\n')
      assert.equal(code, 0, `${output}\n${script.errorLines.join('\n')}`)
      for (const role of ['source', 'indexer 1', 'indexer 2', 'server']) {
        assert.match(output, new RegExp(`${role} .* is killed with SIGKILL`))
      }
      assert.match(output, /^EQUAL: /m)
    })
  }

  it('leaves nothing after Ctrl-C', { skip: skipWithoutServers }, async () => {
    await using script = spawnScript(MAIN, [])
    const [, folder = ''] = /logs: (\S+)/.exec(await script.waitForLine('logs: ', 120_000)) ?? []
    const line = await script.waitForLine(/run .*source \(pid \d+\)/, 120_000)
    assert.ok(existsSync(folder))
    const pids = [...line.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid))
    process.kill(script.pid, 'SIGINT')
    assert.equal((await script.exited).code, 130)
    await until(() => pids.every(pid => !isRunning(pid)), { what: 'the roles to be gone' })
    assert.equal(existsSync(folder), false)
  })
})
