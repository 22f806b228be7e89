/**
 * A process knows something that the database does not, because the database lost commits or was restored: detected,
 * reported, not acted on.
 */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { DatabaseRewoundError, type Events, StaleDeliveryError, type Tidemark } from '../index.ts'
import type { ConformanceDatabase, ConformanceStores } from './conformance-store.ts'
import { it } from './it.ts'
import { until } from './until.ts'

const TOPIC = 'events'

async function opened(database: ConformanceDatabase) {
  const tm = await database.open({ maintenance: false })
  await tm.configureTopic(TOPIC, { semantics: 'pub-sub' })
  const told: Events['database-rewound'][] = []
  tm.on('database-rewound', event => void told.push(event))
  return { tm, told }
}

async function publishAndHold(tm: Tidemark, group: string) {
  const reader = await tm.reader<string>(TOPIC, { group, from: 'beginning', batchSize: 1 }).ready()
  await tm.publish(TOPIC, `for ${group}`)
  return { reader, held: await reader.receive() }
}

export function rewound({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(`a database that went back, on ${store.name}`, () => {
      it('refuses settlements of an unknown lease, and the group reports it once', async () => {
        await using database = await store.fresh()
        const { tm, told } = await opened(database)
        const { reader, held } = await publishAndHold(tm, 'a')
        await database.forgetLeases()
        await assert.rejects(reader.extend(held), StaleDeliveryError)
        await assert.rejects(reader.ack(held), StaleDeliveryError)
        assert.equal(await reader.poll(1), null)
        assert.equal(await reader.poll(1), null)
        assert.deepEqual(told, [{ topic: TOPIC, group: 'a', sign: 'lease' }])
        assert.equal(tm.metrics().totals.rewound, 1)
      })

      it('refuses a receipt of an unknown lease', async () => {
        await using database = await store.fresh()
        const { tm } = await opened(database)
        await tm.pull(TOPIC, 'a', { max: 1, from: 'beginning' })
        await tm.publish(TOPIC, 'once')
        const { receipt } = await tm.pull(TOPIC, 'a', { max: 1, from: 'beginning' })
        assert.ok(receipt)
        await database.forgetLeases()
        await assert.rejects(tm.extend(receipt), StaleDeliveryError)
        await assert.rejects(tm.settle(receipt, { acks: 'all' }), StaleDeliveryError)
      })

      it('is not reported by a group whose cursor was reset, or that was removed', async () => {
        await using database = await store.fresh()
        const { tm, told } = await opened(database)
        const { reader, held } = await publishAndHold(tm, 'a')
        await tm.admin.resetGroup(TOPIC, 'a', 'beginning')
        await assert.rejects(reader.ack(held), StaleDeliveryError)
        assert.equal((await reader.receive()).payload, 'for a')
        const other = await publishAndHold(tm, 'b')
        await tm.admin.removeGroup(TOPIC, 'b', { timeout: 0 })
        await assert.rejects(other.reader.ack(other.held), StaleDeliveryError)
        await assert.rejects(other.reader.poll(1))
        assert.deepEqual(told, [])
      })

      it('claims nothing for a cursor ahead of its log, until it is repaired', async () => {
        await using database = await store.fresh()
        const { tm, told } = await opened(database)
        const seen: string[] = []
        const failures: Error[] = []
        tm.on('error', ({ error }) => void failures.push(error))
        const group = tm.consumerGroup<string>(TOPIC, 'a')
        await group.addConsumer('c', ({ payload }) => void seen.push(payload)).start({ from: 'beginning' })
        await tm.publish(TOPIC, 'before')
        await until(() => seen.length === 1, { what: 'the first message' })
        await database.moveCursors(1_000)
        await tm.publish(TOPIC, 'after')
        await until(() => failures.length > 1, { what: 'the group to say so' })
        assert.ok(failures.every(error => error instanceof DatabaseRewoundError))
        assert.deepEqual(told, [{ topic: TOPIC, group: 'a', sign: 'cursor' }])
        assert.deepEqual(seen, ['before'])
        await tm.admin.resetGroup(TOPIC, 'a', 'beginning')
        await until(() => seen.length === 3, { what: 'the group to go on' })
        assert.deepEqual(seen, ['before', 'before', 'after'])
      })
    })
  }
}
