import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Tidemark, TopicOptions, Tracking } from '../index.ts'
import { cleanerOf, DAY } from './cleaning.ts'
import { type ConformanceDatabase, type ConformanceStores, needsTracking } from './conformance-store.ts'
import { consume, eventsOf, range, receive } from './consuming.ts'
import { letDie } from './dying.ts'
import { it } from './it.ts'

const CONFIG: TopicOptions = { semantics: 'pub-sub', retention: '24h', maxRetention: '30d', partitionRows: 10 }
const WHERE = { topic: 'events', group: 'g' }

export function deadGroupLoss({ secluded }: ConformanceStores): void {
  for (const store of secluded) {
    for (const tracking of ['offset', 'reference'] satisfies Tracking[]) {
      describe(`a group that comes back, by ${tracking}, on ${store.name}`, needsTracking(store, tracking), () => {
        /** Nine messages are removed while it is dead, of which it had claimed `claimed`; three newer ones stay. */
        async function loseNine(
          database: ConformanceDatabase,
          { subscribe = 'beginning' as 'beginning' | 'now', before = 0, bits = true } = {},
        ): Promise<Tidemark> {
          const tm = await database.open()
          await using cleaner = await cleanerOf(database)
          await tm.configureTopic('events', { ...CONFIG, tracking })
          if (before > 0) await tm.publishBatch('events', range(1, before))
          const reader = tm.reader('events', { group: 'g', from: subscribe, batchSize: 2 })
          await reader.ready()
          for (const n of range(before + 1, 9)) await tm.publish('events', n)
          await consume(reader, 4)
          // Held and not settled: it is released when the reader closes.
          await receive(reader)
          await reader.close()
          await letDie(tm, database)
          if (bits) await tm.admin.jobs['dead-groups'].runOnce()
          await cleaner.age('events', 2 * DAY)
          for (const n of range(10, 12)) await tm.publish('events', n)
          await cleaner.run()
          assert.deepEqual(await cleaner.kept('events'), range(10, 12))
          assert.deepEqual(cleaner.events['messages-lost'], [])
          assert.equal(await cleaner.lost('events', 'g'), 0)
          return tm
        }

        it('is told exactly what was cleaned up meanwhile, at its start', async () => {
          await using database = await store.fresh()
          const tm = await loseNine(database)
          const lost = eventsOf(tm, 'messages-lost')
          const reader = tm.reader('events', { group: 'g' })
          assert.deepEqual(await consume(reader, 3), range(10, 12))
          assert.deepEqual(lost, [{ ...WHERE, count: 5, reason: 'cleaned-while-dead' }])
          assert.equal((await tm.admin.groups('events'))[0]?.lost, 5)
          assert.equal(tm.metrics().totals.lost, 5)
        })

        it('is told even if a backfill had not delivered all of it yet', async () => {
          await using database = await store.fresh()
          const tm = await loseNine(database, { before: 7 })
          const lost = eventsOf(tm, 'messages-lost')
          const { lost: cleaned, skipped } = await tm.admin.resurrectGroup('events', 'g')
          assert.deepEqual({ cleaned, skipped }, { cleaned: 5, skipped: 0 })
          assert.deepEqual(lost, [{ ...WHERE, count: 5, reason: 'cleaned-while-dead' }])
          assert.deepEqual(await consume(tm.reader('events', { group: 'g' }), 3), range(10, 12))
        })

        it('is told once, however often it dies', async () => {
          await using database = await store.fresh()
          const tm = await loseNine(database)
          const lost = eventsOf(tm, 'messages-lost')
          await tm.admin.resurrectGroup('events', 'g')
          await letDie(tm, database)
          assert.equal((await tm.admin.resurrectGroup('events', 'g')).lost, 0)
          assert.equal(lost.length, 1)
          assert.equal((await tm.admin.groups('events'))[0]?.lost, 5)
        })

        it('is told by the heartbeat of a process that never stopped', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await using cleaner = await cleanerOf(database)
          await tm.configureTopic('events', { ...CONFIG, tracking })
          const reader = tm.reader('events', { group: 'g', from: 'beginning' })
          await reader.ready()
          for (const n of range(1, 9)) await tm.publish('events', n)
          await consume(reader, 4)
          await letDie(tm, database)
          await cleaner.age('events', 2 * DAY)
          for (const n of range(10, 12)) await tm.publish('events', n)
          await cleaner.run()
          const lost = eventsOf(tm, 'messages-lost')
          assert.deepEqual(await consume(reader, 3), range(10, 12))
          assert.deepEqual(lost, [{ ...WHERE, count: 5, reason: 'cleaned-while-dead' }])
        })

        for (const [how, backfill, skipped] of [
          ['a bound', { maxMessages: 1 }, 2],
          ['backfill: false', false, 3],
        ] as const) {
          it(`is also told what ${how} makes it skip`, async () => {
            await using database = await store.fresh()
            const tm = await loseNine(database, { before: 7 })
            const lost = eventsOf(tm, 'messages-lost')
            const back = await tm.admin.resurrectGroup('events', 'g', { backfill })
            assert.deepEqual([back.lost, back.skipped], [5, skipped])
            assert.deepEqual(lost, [
              { ...WHERE, count: 5, reason: 'cleaned-while-dead' },
              { ...WHERE, count: skipped, reason: 'resurrection' },
            ])
            assert.equal((await tm.admin.groups('events'))[0]?.lost, 5 + skipped)
          })
        }

        it('is told what backfill: false makes it skip of a backfill whose bits are cleared', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { ...CONFIG, tracking })
          await tm.publishBatch('events', range(1, 9))
          const reader = tm.reader('events', { group: 'g', from: 'beginning' })
          await consume(reader, 4)
          await reader.close()
          await tm.publishBatch('events', range(10, 11))
          await letDie(tm, database)
          await tm.admin.jobs['dead-groups'].runOnce()
          const { skipped } = await tm.admin.resurrectGroup('events', 'g', { backfill: false })
          assert.equal(skipped, 7)
          assert.equal((await tm.admin.groups('events'))[0]?.lost, 7)
        })

        it('keeps health from being healthy until that is acknowledged', async () => {
          await using database = await store.fresh()
          const tm = await loseNine(database)
          assert.deepEqual((await tm.admin.health()).lost, [])
          const reader = tm.reader('events', { group: 'g' })
          await consume(reader, 3)
          const before = await tm.admin.health({ removable: 1_000_000, cleanUpEvery: '365d' })
          assert.equal(before.healthy, false)
          assert.deepEqual(
            before.lost.map(({ topic, group, lost, unacknowledgedLoss }) => [topic, group, lost, unacknowledgedLoss]),
            [['events', 'g', 5, 5]],
          )
          const told = eventsOf(tm, 'loss-acknowledged')
          assert.deepEqual(await tm.admin.acknowledgeLoss('events', 'g'), { acknowledged: 5 })
          assert.deepEqual(await tm.admin.acknowledgeLoss('events', 'g'), { acknowledged: 0 })
          assert.deepEqual(told, [{ ...WHERE, count: 5 }])
          const after = await tm.admin.health({ removable: 1_000_000, cleanUpEvery: '365d' })
          assert.deepEqual([after.healthy, after.lost], [true, []])
          // The count itself stays.
          assert.deepEqual(
            (await tm.admin.groups('events')).map(({ lost, unacknowledgedLoss }) => [lost, unacknowledgedLoss]),
            [[5, 0]],
          )
        })

        it('and is then cancelled no longer keeps health from being healthy', async () => {
          await using database = await store.fresh()
          const tm = await loseNine(database)
          await tm.admin.resurrectGroup('events', 'g')
          const limits = { removable: 1_000_000, cleanUpEvery: '365d' } as const
          assert.equal((await tm.admin.health(limits)).lost.length, 1)
          await tm.admin.cancelGroup('events', 'g')
          assert.deepEqual((await tm.admin.health(limits)).lost, [])
        })

        it('is told nothing if nothing was lost', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await using cleaner = await cleanerOf(database)
          await tm.configureTopic('events', { ...CONFIG, tracking })
          const reader = tm.reader('events', { group: 'g', from: 'beginning' })
          await tm.publishBatch('events', range(1, 9))
          await consume(reader, 9)
          await reader.close()
          await letDie(tm, database)
          await cleaner.age('events', 2 * DAY)
          await tm.publishBatch('events', range(10, 12))
          assert.equal((await cleaner.run()).removed, 9)
          const lost = eventsOf(tm, 'messages-lost')
          assert.deepEqual(await consume(tm.reader('events', { group: 'g' }), 3), range(10, 12))
          assert.deepEqual(lost, [])
          assert.deepEqual((await tm.admin.health()).lost, [])
        })
      })
    }
  }
}
