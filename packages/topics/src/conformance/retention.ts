import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { TopicOptions } from '../index.ts'
import { type Cleaner, cleanerOf, DAY, HOUR } from './cleaning.ts'
import type { ConformanceDatabase, ConformanceStores } from './conformance-store.ts'
import { consume, groupOf, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

/** Small partitions, so that whole-partition removal covers several. */
const PUB_SUB: TopicOptions = { semantics: 'pub-sub', retention: '24h', maxRetention: '30d', partitionRows: 10 }

export function retention({ secluded }: ConformanceStores): void {
  for (const store of secluded) {
    describe(`retention on ${store.name}`, () => {
      const test = (name: string, body: (database: ConformanceDatabase, cleaner: Cleaner) => Promise<void>): void => {
        it(name, async () => {
          await using database = await store.fresh()
          await using cleaner = await cleanerOf(database)
          await body(database, cleaner)
        })
      }

      test('keeps processed messages until their retention is over, and removes them then', async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('events', PUB_SUB)
        const reader = tm.reader('events', { group: 'email', from: 'beginning' })
        await tm.publishBatch('events', range(1, 35))
        await consume(reader, 35)
        assert.deepEqual(await cleaner.run(), { removed: 0, lost: 0 })
        await cleaner.age('events', 23 * HOUR)
        assert.deepEqual(await cleaner.run(), { removed: 0, lost: 0 })
        assert.deepEqual(await cleaner.kept('events'), range(1, 35))
        await cleaner.age('events', 2 * HOUR)
        assert.deepEqual(await cleaner.run(), { removed: 35, lost: 0 })
        assert.deepEqual(await cleaner.kept('events'), [])
        await tm.publish('events', 36)
        assert.deepEqual(await consume(reader, 1), [36])
      })

      test('keeps what one group has not processed, however old', async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('events', PUB_SUB)
        const fast = tm.reader('events', { group: 'fast', from: 'beginning' })
        const slow = tm.reader('events', { group: 'slow', from: 'beginning', batchSize: 5 })
        // Not in one transaction: on PostgreSQL an unfinished message holds back all of its transaction.
        for (const first of [1, 11, 21, 31]) await tm.publishBatch('events', range(first, first + 9))
        await consume(fast, 40)
        const first = await consume(slow, 24)
        await cleaner.age('events', 2 * DAY)
        const { removed } = await cleaner.run()
        assert.ok(removed > 0 && removed <= 24, `${removed} were removed`)
        assert.deepEqual([...first, ...(await consume(slow, 16))], range(1, 40))
        assert.equal((await cleaner.run()).removed, 40 - removed)
        assert.deepEqual(cleaner.events['messages-lost'], [])
      })

      test('keeps a message that is in flight', async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('events', PUB_SUB)
        const reader = tm.reader('events', { group: 'email', from: 'beginning', batchSize: 1 })
        await tm.publishBatch('events', range(1, 30))
        const held = await receive(reader)
        await consume(reader, 29)
        await cleaner.age('events', 2 * DAY)
        assert.equal((await cleaner.run()).removed, 0)
        await held.ack()
        assert.equal((await cleaner.run()).removed, 30)
      })

      test('keeps what waits to be retried', async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('events', PUB_SUB)
        const reader = tm.reader('events', { group: 'email', from: 'beginning', batchSize: 1 })
        await tm.publishBatch('events', range(1, 30))
        const failed = await receive(reader)
        await failed.nack('later', { delay: '1h' })
        await consume(reader, 29)
        await cleaner.age('events', 2 * DAY)
        assert.equal((await cleaner.run()).removed, 0)
        await database.makeRetriesDue()
        assert.deepEqual(await consume(reader, 1), [1])
        assert.equal((await cleaner.run()).removed, 30)
      })

      test("with retention 'forever' keeps all, for replay", async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('events', { ...PUB_SUB, retention: 'forever', maxRetention: 'none' })
        await tm.publishBatch('events', range(1, 30))
        await consume(tm.reader('events', { group: 'email', from: 'beginning' }), 30)
        await cleaner.age('events', 1_000 * DAY)
        assert.equal((await cleaner.run()).removed, 0)
        assert.deepEqual(await consume(tm.reader('events', { group: 'replay', from: 'beginning' }), 30), range(1, 30))
      })

      test('keeps unsubscribed messages for their own time, for whoever comes late', async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('events', { ...PUB_SUB, retention: '1h', zeroSubscriptionRetention: '48h' })
        await tm.publishBatch('events', range(1, 20))
        await cleaner.age('events', 47 * HOUR)
        assert.equal((await cleaner.run()).removed, 0)
        await cleaner.age('events', 2 * HOUR)
        assert.equal((await cleaner.run()).removed, 20)
      })

      test('of a queue: processed messages are removed, unclaimed ones stay until the cap', async (database, cleaner) => {
        const tm = await database.open()
        const options = { retention: '1h', maxRetention: '10d', lease: '1m', partitionRows: 10 } as const
        await tm.configureTopic('used', options)
        await tm.configureTopic('unused', options)
        for (const topic of ['used', 'unused']) await tm.publishBatch(topic, range(1, 25))
        await consume(tm.reader('used'), 25)
        for (const topic of ['used', 'unused']) await cleaner.age(topic, 9 * DAY)
        assert.deepEqual(await cleaner.run(), { removed: 25, lost: 0 })
        assert.deepEqual(await cleaner.kept('used'), [])
        assert.deepEqual(await cleaner.kept('unused'), range(1, 25))
        await cleaner.age('unused', 2 * DAY)
        assert.deepEqual(await cleaner.run(), { removed: 25, lost: 0 })
      })

      test('a paused group comes back after the clean-up has run many times, and gets everything within its cap', async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('events', PUB_SUB)
        const group = tm.consumerGroup<number>('events', 'paused')
        const got: number[] = []
        group.addConsumer('one', ({ payload }) => void got.push(payload))
        await group.start({ from: 'beginning' })
        await group.pause()
        const fast = tm.reader<number>('events', { group: 'fast', from: 'beginning' })
        for (let round = 0; round < 20; round++) {
          await tm.publishBatch('events', range(round * 7 + 1, round * 7 + 7))
          await consume(fast, 7)
          await cleaner.age('events', DAY)
          await cleaner.runOnce()
        }
        assert.equal((await cleaner.run()).removed, 0)
        assert.equal((await groupOf(tm, 'events', 'paused')).backlog, 140)
        await group.resume()
        await tm.publish('events', 141)
        await until(() => got.length >= 141, { what: 'the paused group to get all' })
        assert.deepEqual(got, range(1, 141))
        await consume(fast, 1)
        assert.equal((await cleaner.run()).removed >= 130, true)
        assert.equal(await cleaner.lost('events', 'paused'), 0)
      })

      for (const status of ['DEAD', 'CANCELLED'] as const) {
        test(`a ${status} group pins nothing, and what it held is removed with the messages`, async (database, cleaner) => {
          const tm = await database.open()
          await tm.configureTopic('events', { ...PUB_SUB, lease: 0 })
          const gone = tm.reader('events', { group: 'gone', from: 'beginning', batchSize: 4 })
          await tm.publishBatch('events', range(1, 30))
          await receive(gone)
          await (await receive(gone)).nack('later', { delay: '1h' })
          await consume(tm.reader('events', { group: 'live', from: 'beginning' }), 30)
          await database.setStatus('gone', status)
          await cleaner.age('events', 2 * DAY)
          assert.deepEqual(await cleaner.run(), { removed: 30, lost: 0 })
          assert.equal(await cleaner.lost('events', 'gone'), 0)
          const { inFlight, retries, backlog } = await groupOf(tm, 'events', 'gone')
          assert.deepEqual({ inFlight, retries, backlog }, { inFlight: 0, retries: 0, backlog: 0 })
        })
      }

      test('reports each topic and counts what was removed', async (database, cleaner) => {
        const tm = await database.open()
        for (const topic of ['one', 'two']) {
          await tm.configureTopic(topic, PUB_SUB)
          await tm.publishBatch(topic, range(1, 12))
          await cleaner.age(topic, 2 * DAY)
        }
        await cleaner.run()
        const told = new Map<string, number>()
        for (const { topic, count } of cleaner.events['clean-up']) told.set(topic, (told.get(topic) ?? 0) + count)
        assert.deepEqual([...told].sort(), [
          ['one', 12],
          ['two', 12],
        ])
        const { totals, topics } = cleaner.instrumentation.metrics.snapshot({ size: 0, busy: 0, waiting: 0 })
        assert.deepEqual([totals.cleaned, topics.one?.totals.cleaned], [24, 12])
      })
    })
  }
}
