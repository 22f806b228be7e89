import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Tidemark } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, consume, eventsOf, Gate, groupOf, happened, payloadsOf, range, receive } from './consuming.ts'
import { letDie, MISSES, TIMEOUT_MS } from './dying.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { until } from './until.ts'

const DETECT = 'dead-groups'

export function deadGroups({ secluded }: ConformanceStores): void {
  for (const store of secluded) {
    describe(store.name, () => {
      describe('a group that falls silent', () => {
        it('misses once per timeout, however often the detector runs, and dies at its last miss', async () => {
          await using database = await store.fresh()
          const tm = await withGroup(await database.open())
          const [missed, dead] = [eventsOf(tm, 'group-missed'), eventsOf(tm, 'group-dead')]
          assert.deepEqual(await tm.admin.jobs[DETECT].runOnce(), none)
          for (let miss = 1; miss < MISSES; miss++) {
            await database.ageGroups(TIMEOUT_MS + 1_000)
            for (let run = 0; run < 3; run++) await tm.admin.jobs[DETECT].runOnce()
            assert.equal(missed.length, miss)
            assert.equal((await groupOf(tm, 'events', 'g')).status, 'ACTIVE')
          }
          assert.deepEqual(missed.at(-1), { topic: 'events', group: 'g', misses: 2, of: 3 })
          await database.ageGroups(TIMEOUT_MS + 1_000)
          assert.deepEqual(await tm.admin.jobs[DETECT].runOnce(), { ...none, dead: 1 })
          assert.equal((await groupOf(tm, 'events', 'g')).status, 'DEAD')
          assert.equal(dead.length, 1)
          assert.ok((dead[0]?.silentMs ?? 0) >= MISSES * TIMEOUT_MS)
          assert.equal(tm.metrics().totals.deadGroups, 1)
          await database.ageGroups(TIMEOUT_MS + 1_000)
          assert.equal((await tm.admin.jobs[DETECT].runOnce()).dead, 0)
        })

        it('is judged by its own timeout and misses', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const quick = tm.reader('events', { group: 'quick', heartbeat: { timeout: '10s', misses: 1 } })
          const slow = tm.reader('events', { group: 'slow', heartbeat: { interval: '10m', timeout: '1h' } })
          for (const reader of [await quick.ready(), await slow.ready()]) await reader.close()
          const quickGroup = await groupOf(tm, 'events', 'quick')
          assert.deepEqual(settingsOf(quickGroup), [2_000, 10_000, 1])
          await database.ageGroups(11_000)
          await tm.admin.jobs[DETECT].runOnce()
          assert.equal((await groupOf(tm, 'events', 'quick')).status, 'DEAD')
          assert.equal((await groupOf(tm, 'events', 'slow')).status, 'ACTIVE')
          // Settings of a later start replace the stored ones; the rest stays.
          await (await tm.reader('events', { group: 'slow', heartbeat: { misses: 7 } }).ready()).close()
          const changed = await groupOf(tm, 'events', 'slow')
          assert.deepEqual(settingsOf(changed), [600_000, 3_600_000, 7])
        })

        it('does not die while it is paused, and starts again when it is resumed', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const group = tm.consumerGroup('events', 'g')
          collect(group)
          await group.start()
          await group.pause()
          await letDie(tm, database)
          assert.equal((await groupOf(tm, 'events', 'g')).status, 'PAUSED')
          await group.resume()
          assert.equal((await tm.admin.jobs[DETECT].runOnce()).missed, 0)
          assert.equal((await groupOf(tm, 'events', 'g')).epoch, 2)
        })

        it('never dies in a queue', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await (await tm.reader('work').ready()).close()
          await letDie(tm, database)
          assert.equal((await groupOf(tm, 'work')).status, 'ACTIVE')
        })

        it('is counted once by detectors of several instances that run at once', async () => {
          await using database = await store.fresh()
          const tm = await withGroup(await database.open())
          const stores = await Promise.all(range(1, 4).map(() => openStore(database)))
          try {
            for (let miss = 1; miss <= MISSES; miss++) {
              await database.ageGroups(TIMEOUT_MS + 1_000)
              const found = await Promise.all(
                stores.flatMap(each => [each.heartbeats.detectDead(), each.heartbeats.detectDead()]),
              )
              const isLast = miss === MISSES
              assert.equal(found.flatMap(each => each.missed).length, isLast ? 0 : 1)
              assert.equal(found.flatMap(each => each.dead).length, isLast ? 1 : 0)
              assert.equal((await groupOf(tm, 'events', 'g')).heartbeat.misses, miss)
            }
            assert.equal((await groupOf(tm, 'events', 'g')).status, 'DEAD')
          } finally {
            await Promise.all(stores.map(each => each.close()))
          }
        })
      })

      describe('what a dead group held', () => {
        for (const lease of ['5m', 0] as const) {
          it(`is taken over when it lives again, with a lease of ${lease}; late settlements are stale`, async () => {
            await using database = await store.fresh()
            const [here, there] = [await database.open(), await database.open()]
            await here.configureTopic('events', { semantics: 'pub-sub', lease })
            const gone = await here.reader('events', { group: 'g', batchSize: 3 }).ready()
            await here.publishBatch('events', [1, 2, 3])
            const held = await receive(gone)
            assert.equal(held.payload, 1)
            await letDie(there, database)
            const reader = there.reader('events', { group: 'g' })
            assert.deepEqual((await consume(reader, 3)).sort(), [1, 2, 3])
            await assert.rejects(held.ack(), { code: 'TIDEMARK_STALE_DELIVERY' })
          })
        }
      })

      describe('resurrection', () => {
        it('comes with the next heartbeat of a running group, which continues where it stopped', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const group = tm.consumerGroup<number>('events', 'g')
          const deliveries = collect(group)
          await group.start({ heartbeat: { interval: '1h', timeout: '5h' } })
          const back = eventsOf(tm, 'group-resurrected')
          await letDie(tm, database, 5 * 3_600_000)
          await tm.publishBatch('events', range(1, 20))
          await happened(back, 1, 'the group to notice and beat')
          assert.deepEqual(back[0], { topic: 'events', group: 'g', epoch: 2, skipped: 0, lost: 0, backfill: false })
          await until(() => deliveries.length === 20, { what: 'all twenty' })
          assert.deepEqual(payloadsOf(deliveries), range(1, 20))
          assert.equal(group.running, true)
          const row = await groupOf(tm, 'events', 'g')
          assert.deepEqual([row.status, row.epoch, row.heartbeat.misses], ['ACTIVE', 2, 0])
          assert.equal(tm.metrics().totals.resurrected, 1)
        })

        it('comes with a subscribe, at the cursor, with everything published meanwhile', async () => {
          await using database = await store.fresh()
          const tm = await withGroup(await database.open())
          await letDie(tm, database)
          await tm.publishBatch('events', range(1, 50))
          const back = eventsOf(tm, 'group-resurrected')
          const lost = eventsOf(tm, 'messages-lost')
          assert.deepEqual(await consume(tm.reader('events', { group: 'g', batchSize: 20 }), 50), range(1, 50))
          assert.deepEqual([back.length, lost.length], [1, 0])
        })

        it('brings back at most what the group has set as its limit; the rest is lost to it, and said so', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub', partitionRows: 20 })
          const reader = await tm.reader('events', { group: 'g', backfill: { maxMessages: 7 } }).ready()
          await tm.publishBatch('events', range(1, 5))
          assert.deepEqual(await consume(reader, 2), [1, 2])
          await reader.close()
          await letDie(tm, database)
          await tm.publishBatch('events', range(6, 60))
          const lost = eventsOf(tm, 'messages-lost')
          const again = tm.reader('events', { group: 'g', batchSize: 10 })
          assert.deepEqual(await consume(again, 7), range(54, 60))
          assert.equal(await again.poll(0), null)
          assert.deepEqual(lost, [{ topic: 'events', group: 'g', count: 51, reason: 'resurrection' }])
          const row = await groupOf(tm, 'events', 'g')
          assert.equal(row.lost, 51)
          assert.ok(row.lostAt)
          await tm.publish('events', 61)
          assert.deepEqual(await consume(again, 1), [61])
        })

        it('through the store: continues, is bounded, or skips to the present with what was held', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const direct = await openStore(database)
          try {
            const plan = { scope: 'retained', maxMessages: null, batchSize: 1, maxPerSecond: 1, targetMs: 1 } as const
            await tm.configureTopic('events', { semantics: 'pub-sub' })
            const topic = await direct.topics.find('events')
            assert.ok(topic)
            const readers = ['all', 'some', 'none'].map(group => tm.reader('events', { group, batchSize: 2 }))
            for (const reader of readers) await reader.ready()
            await tm.publishBatch('events', range(1, 10))
            for (const reader of readers) await receive(reader)
            const of = async (group: string) => {
              const subscription = await direct.subscriptions.find(topic, group)
              assert.ok(subscription)
              return subscription
            }
            await assert.rejects(
              direct.subscriptions.resurrect(topic, await of('all'), { mode: 'continue', limit: null, plan }),
              {
                code: 'TIDEMARK_INVALID_TRANSITION',
              },
            )
            await letDie(tm, database)
            const back = { epoch: 2, lost: 0, backfill: false }
            assert.deepEqual(
              await direct.subscriptions.resurrect(topic, await of('all'), { mode: 'continue', limit: null, plan }),
              {
                ...back,
                skipped: 0,
              },
            )
            assert.deepEqual(
              await direct.subscriptions.resurrect(topic, await of('some'), { mode: 'continue', limit: 3, plan }),
              {
                ...back,
                skipped: 5,
              },
            )
            assert.deepEqual(
              await direct.subscriptions.resurrect(topic, await of('none'), { mode: 'skip', limit: null, plan }),
              {
                ...back,
                skipped: 10,
              },
            )
            assert.deepEqual((await drained(tm, 'all', 10)).sort(byNumber), range(1, 10))
            assert.deepEqual((await drained(tm, 'some', 5)).sort(byNumber), [1, 2, 8, 9, 10])
            const present = tm.reader('events', { group: 'none' })
            assert.equal(await present.poll(0), null)
            await tm.publish('events', 11)
            assert.deepEqual(await consume(present, 1), [11])
          } finally {
            await direct.close()
          }
        })
      })

      it('clears the misses of a group that sends heartbeats for longer than a timeout', async () => {
        await using database = await store.fresh()
        const tm = await withGroup(await database.open())
        await database.ageGroups(TIMEOUT_MS + 1_000)
        assert.equal((await tm.admin.jobs[DETECT].runOnce()).missed, 1)
        await (await tm.reader('events', { group: 'g' }).ready()).close()
        assert.equal((await groupOf(tm, 'events', 'g')).heartbeat.misses, 1)
        await database.ageGroups(TIMEOUT_MS + 1_000)
        await (await tm.reader('events', { group: 'g' }).ready()).close()
        assert.equal((await groupOf(tm, 'events', 'g')).heartbeat.misses, 0)
      })

      it('lets the handlers of a resurrected group finish as stale ones', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        const gate = new Gate()
        const group = tm.consumerGroup<number>('events', 'g')
        const attempts: number[] = []
        group.addConsumer(
          'slow',
          async ({ attempt }) => {
            attempts.push(attempt)
            if (attempt === 1) await gate.passed
          },
          { concurrency: 4 },
        )
        await group.start()
        await tm.publish('events', 1)
        await until(() => attempts.length === 1, { what: 'the handler to begin' })
        await letDie(tm, database)
        await until(() => attempts.length === 2, { what: 'the message to be taken over after the resurrection' })
        const stale = eventsOf(tm, 'stale')
        gate.open()
        await happened(stale, 1, 'the first handler to hear that it is late')
        assert.deepEqual(attempts, [1, 2])
      })
    })
  }
}

const none = { missed: 0, dead: 0, unsubscribed: 0, bitsCleared: 0 }
const byNumber = (a: unknown, b: unknown): number => Number(a) - Number(b)

/** With a group that existed and is gone. */
async function withGroup(tm: Tidemark): Promise<Tidemark> {
  await tm.configureTopic('events', { semantics: 'pub-sub' })
  await (await tm.reader('events', { group: 'g' }).ready()).close()
  return tm
}

async function drained(tm: Tidemark, group: string, count: number): Promise<unknown[]> {
  const reader = tm.reader('events', { group })
  const payloads = await consume(reader, count)
  assert.equal(await reader.poll(0), null)
  await reader.close()
  return payloads
}

const settingsOf = ({ heartbeat }: Awaited<ReturnType<typeof groupOf>>): number[] => [
  heartbeat.intervalMs,
  heartbeat.timeoutMs,
  heartbeat.deadAfterMisses,
]
