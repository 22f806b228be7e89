import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { open } from 'tidemark'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { startNats } from '../../../../testing/nats-server.ts'
import { until } from '../../../../testing/until.ts'
import { silent } from '../silent.ts'

const HOUR_MS = 3_600_000

describe('a process whose clock was an hour ahead', { skip: skipWithoutNats() }, () => {
  it('connects again when a server returns after the clock was set right', async t => {
    await using cluster = await startNats()
    const [node] = cluster.nodes
    assert.ok(node)
    await using tm = await open(cluster.url, { logger: silent, requestTimeout: '1s' })
    const works = async (n: number): Promise<boolean> =>
      await tm.publish('work', n).then(
        () => true,
        () => false,
      )
    const real = Date.now
    let ahead = HOUR_MS
    t.mock.method(Date, 'now', () => real() + ahead)
    for (const n of [1, 2]) {
      await node.kill()
      await node.start()
      await until(() => works(n), { what: `the process to be connected, ${ahead} ms ahead`, timeout: 20_000 })
      ahead = 0
    }
  })
})
