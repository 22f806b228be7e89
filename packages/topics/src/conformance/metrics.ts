import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Percentiles } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { consume, eventsOf, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function metrics({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('metrics', () => {
        it('count what happened, for the whole, for each topic and for each group', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub', maxAttempts: 2 })
          const [a, b] = [tm.reader('events', { group: 'a' }), tm.reader('events', { group: 'b' })]
          await Promise.all([a.ready(), b.ready()])
          await tm.publish('events', 1, { messageId: 'one' })
          await tm.publish('events', 1, { messageId: 'one' })
          await tm.publish('events', 2)
          await tm.publish('other', 3)
          await consume(a, 2)
          await (await receive(b)).nack('once', { delay: 0 })
          await (await receive(b)).nack('twice', { delay: 0 })
          const { totals, rates, topics } = tm.metrics()
          const { events, other } = topics
          assert.ok(events && other)
          assert.deepEqual([totals.published, totals.duplicates], [3, 1])
          assert.deepEqual([events.totals.published, events.totals.duplicates], [2, 1])
          assert.deepEqual([other.totals.published, other.totals.received], [1, 0])
          assert.deepEqual([totals.acked, totals.nacked, totals.retried, totals.deadLettered], [2, 2, 1, 1])
          assert.deepEqual(Object.keys(events.groups).sort(), ['a', 'b'])
          assert.deepEqual([events.groups.a?.totals.received, events.groups.a?.totals.acked], [2, 2])
          assert.deepEqual([events.groups.b?.totals.nacked, events.groups.b?.totals.deadLettered], [2, 1])
          assert.deepEqual([events.groups.b?.totals.acked, events.groups.a?.totals.nacked], [0, 0])
          assert.ok(totals.claims >= 4)
          assert.ok(rates.published > 0 && rates.published <= 3)
          assert.ok((events.groups.a?.rates.acked ?? 0) > 0)
          assert.equal(rates.takenOver, 0)
        })

        it('have latencies of publish, claim, settle and heartbeat, and the use of the pool', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          assert.deepEqual(tm.metrics().latency.publish, { count: 0, p50: 0, p95: 0, p99: 0, max: 0 })
          for (const number of [1, 2, 3]) await tm.publish('work', number)
          await consume(tm.reader('work', { heartbeat: { interval: 10 } }), 3)
          await until(() => tm.metrics().latency.heartbeat.count > 0, { what: 'a heartbeat' })
          const { latency, pool, claimConflictRatio } = tm.metrics()
          assert.equal(latency.publish.count, 3)
          assert.equal(latency.settle.count, 3)
          assert.ok(latency.claim.count >= 3)
          for (const each of Object.values(latency)) assertPercentiles(each)
          assert.ok(pool.size >= 1)
          assert.deepEqual([pool.busy, pool.waiting], [0, 0])
          assert.ok(claimConflictRatio >= 0 && claimConflictRatio <= 1)
        })
      })

      describe('metrics of what is gone', () => {
        it('are forgotten with a topic that is deleted, and with a group that is removed', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const [a, b] = [tm.reader('events', { group: 'a' }), tm.reader('events', { group: 'b' })]
          await Promise.all([a.ready(), b.ready()])
          await tm.publish('events', 1)
          await Promise.all([consume(a, 1), consume(b, 1)])
          await tm.publish('other', 1)
          await a.close()
          await tm.admin.removeGroup('events', 'a')
          assert.deepEqual(Object.keys(tm.metrics().topics.events?.groups ?? {}), ['b'])
          const waiting = assert.rejects(b.receive(), { code: 'TIDEMARK_SUBSCRIPTION_GONE' })
          await tm.admin.deleteTopic('events')
          await waiting
          // The activity of its consumers before they noticed has not recreated its figures.
          assert.deepEqual(Object.keys(tm.metrics().topics), ['other'])
          assert.ok(tm.metrics().totals.published === 2)
          await tm.publish('events', 2)
          assert.deepEqual(Object.keys(tm.metrics().topics).sort(), ['events', 'other'])
          assert.equal(tm.metrics().topics.events?.totals.published, 1)
        })

        it('stay as they were in what was read before', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const before = tm.metrics()
          await tm.publishBatch('work', [2, 3])
          const after = tm.metrics()
          await tm.admin.deleteTopic('work')
          assert.deepEqual([before.totals.published, before.topics.work?.totals.published], [1, 1])
          assert.deepEqual([after.totals.published, after.topics.work?.totals.published], [3, 3])
        })
      })

      describe('events', () => {
        it('report every state change, until the listener is removed', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const [published, acked, nacked] = [eventsOf(tm, 'published'), eventsOf(tm, 'acked'), eventsOf(tm, 'nacked')]
          let calls = 0
          const off = tm.on('published', () => calls++)
          await tm.publishBatch('work', [1, 2])
          off()
          await tm.publish('work', 3)
          const reader = tm.reader('work')
          await consume(reader, 2)
          const failed = await receive(reader)
          await failed.nack(new RangeError('broken'), { delay: '1m' })
          assert.equal(calls, 1)
          assert.deepEqual(published, [
            { topic: 'work', count: 2, duplicates: 0 },
            { topic: 'work', count: 1, duplicates: 0 },
          ])
          assert.equal(
            acked.reduce((sum, { count }) => sum + count, 0),
            2,
          )
          const [event] = nacked
          assert.ok(event?.error instanceof RangeError)
          assert.deepEqual([event.messageId, event.attempt, event.retryInMs], [failed.messageId, 1, 60_000])
        })

        it('reach the others when a listener throws', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          tm.on('published', () => {
            throw new Error('of the listener')
          })
          const ref = await tm.publish('work', 1)
          assert.ok(ref.id > 0)
          assert.deepEqual(await consume(tm.reader('work'), 1), [1])
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      it('keeps the metrics of each instance apart', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(), await database.open()]
        await here.publish('work', 1)
        await consume(there.reader('work'), 1)
        assert.deepEqual([here.metrics().totals.published, here.metrics().totals.acked], [1, 0])
        assert.deepEqual([there.metrics().totals.published, there.metrics().totals.acked], [0, 1])
      })
    })
  }
}

function assertPercentiles({ count, p50, p95, p99, max }: Percentiles): void {
  assert.ok(count > 0 && p50 > 0)
  assert.deepEqual(
    [p50, p95, p99, max],
    [p50, p95, p99, max].toSorted((a, b) => a - b),
  )
}
