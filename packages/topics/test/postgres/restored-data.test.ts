/** The server's data folder is put back as it was: whatever was made since is gone, and its ids are given again. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { describe, it } from 'node:test'
import { type PostgresServer, startPostgres } from '../../../../testing/postgres-server.ts'
import { until } from '../../../../testing/until.ts'
import { collect, consume, eventsOf, happened, payloadsOf, range } from '../../src/conformance/consuming.ts'
import { open, SubscriptionGoneError, type Tidemark } from '../../src/index.ts'
import { quiet } from './store-bench.ts'

const openAt = (server: PostgresServer): Promise<Tidemark> =>
  open(server.url, { maintenance: false, logger: quiet, sweepInterval: '20ms' })

/** The server is stopped for it, as for any copy of files. */
async function copyData(server: PostgresServer, from: string, to: string): Promise<void> {
  await server.stop()
  rmSync(to, { recursive: true, force: true })
  execFileSync('cp', ['-a', from, to])
  await server.start()
}

const messageIdsOf = async (published: Promise<readonly { messageId: string }[]>): Promise<string[]> =>
  (await published).map(({ messageId }) => messageId)

describe('PostgreSQL: a data folder that is restored under a living process', () => {
  it('gives no messageId out again, and no group another’s messages', async () => {
    await using server = await startPostgres()
    const copy = `${server.dataDir}.copy`
    await using living = await openAt(server)
    await living.configureTopic('events', { semantics: 'pub-sub' })
    const before = await messageIdsOf(living.publishBatch('events', range(1, 3)))
    await copyData(server, server.dataDir, copy)

    const stopped = eventsOf(living, 'group-stopped')
    const late = living.consumerGroup('events', 'since-the-copy')
    const taken = collect(late)
    await late.start()
    const lost = await messageIdsOf(living.publishBatch('events', range(4, 9)))
    await until(() => taken.length === 6, { what: 'the group to work' })
    await copyData(server, copy, server.dataDir)

    await using other = await openAt(server)
    const reader = await other.reader('events', { group: 'another' }).ready()
    const fresh = await messageIdsOf(other.publishBatch('events', range(10, 15)))
    assert.deepEqual(await consume(reader, 6), range(10, 15))
    const [event] = await happened(stopped, 1, 'the group to stop')
    assert.ok(event?.reason instanceof SubscriptionGoneError, String(event?.reason))
    assert.deepEqual(payloadsOf(taken), range(4, 9))
    const again = await messageIdsOf(living.publishBatch('events', range(16, 20)))
    assert.equal(new Set([...before, ...lost, ...fresh, ...again]).size, 3 + 6 + 6 + 5)
    const { messages } = await living.admin.browse('events')
    assert.deepEqual(
      messages.map(({ messageId }) => messageId),
      [...before, ...fresh, ...again],
    )
  })
})
