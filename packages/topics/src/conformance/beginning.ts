import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { ConfigError, type Tidemark, type Tracking } from '../index.ts'
import { type ConformanceStores, needs, needsTracking } from './conformance-store.ts'
import { collect, consume, eventsOf, happened, payloadsOf, range } from './consuming.ts'
import { letDie } from './dying.ts'
import { it } from './it.ts'

const TRACKINGS = ['offset', 'reference'] satisfies Tracking[]

export function beginning({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    for (const tracking of TRACKINGS) {
      describe(
        `a new group of a topic tracked by ${tracking}, on ${store.name}`,
        needsTracking(store, tracking),
        () => {
          it("gets everything retained with 'beginning', whoever has processed it", async () => {
            await using database = await store.fresh()
            const tm = await openWith(await database.open(), tracking)
            const first = tm.reader<number>('events', { group: 'first' })
            await first.ready()
            await tm.publishBatch('events', range(1, 10))
            assert.deepEqual(await consume(first, 10), range(1, 10))
            const reader = tm.reader<number>('events', { group: 'reader', from: 'beginning' })
            assert.deepEqual(await consume(reader, 10), range(1, 10))
            const { messages } = await tm.pull('events', 'puller', { from: 'beginning', max: 100 })
            assert.equal(messages.length, 10)
            const group = tm.consumerGroup<number>('events', 'group')
            const deliveries = collect(group)
            await group.start({ from: 'beginning', backfill: { batchSize: 4 } })
            await happened(deliveries, 10, 'everything')
            assert.deepEqual(payloadsOf(deliveries).sort(byNumber), range(1, 10))
          })

          for (const maxMessages of [0, 1, 4, 10, 1_000_000]) {
            it(`gets the newest ${maxMessages}, as requested`, async () => {
              await using database = await store.fresh()
              const tm = await openWith(await database.open(), tracking)
              await publishWithGaps(tm)
              const started = eventsOf(tm, 'group-started')
              const group = tm.consumerGroup<number>('events', 'late')
              const deliveries = collect(group)
              await group.start({ from: 'beginning', backfill: { maxMessages } })
              await tm.publish('events', 11)
              const newest = range(Math.max(1, 11 - maxMessages), 11)
              await happened(deliveries, newest.length, 'the newest')
              assert.deepEqual(payloadsOf(deliveries).sort(byNumber), newest)
              // Not lost: it asked for no more.
              const skipped = Math.max(0, 10 - maxMessages)
              assert.deepEqual(
                started.map(each => each.skipped),
                [skipped],
              )
              assert.equal((await tm.admin.groups('events'))[0]?.lost, 0)
            })
          }

          it('gets the newest of what follows the position that it names', async () => {
            await using database = await store.fresh()
            const tm = await openWith(await database.open(), tracking)
            const refs = await publishWithGaps(tm)
            const from = { messageId: refs[5]?.messageId ?? '' }
            const some = tm.reader<number>('events', { group: 'some', from, backfill: { maxMessages: 3 } })
            assert.deepEqual(await consume(some, 3), [8, 9, 10])
            assert.equal(await some.poll(0), null)
            const all = tm.reader<number>('events', { group: 'all', from, backfill: { maxMessages: 8 } })
            assert.deepEqual(await consume(all, 5), [6, 7, 8, 9, 10])
            assert.equal(await all.poll(0), null)
            const since = { timestamp: 1 }
            const recent = tm.reader<number>('events', { group: 'recent', from: since, backfill: { maxMessages: 2 } })
            assert.deepEqual(await consume(recent, 2), [9, 10])
            assert.equal(await recent.poll(0), null)
            const present = tm.reader<number>('events', { group: 'present', from: 'now', backfill: { maxMessages: 2 } })
            await present.ready()
            await tm.publish('events', 11)
            assert.deepEqual(await consume(present, 1), [11])
          })

          it('gets no earlier messages without a backfill', async () => {
            await using database = await store.fresh()
            const tm = await openWith(await database.open(), tracking)
            await tm.publishBatch('events', range(1, 3))
            const reader = tm.reader('events', { group: 'late', from: 'beginning', backfill: false })
            await reader.ready()
            await tm.publish('events', 4)
            assert.deepEqual(await consume(reader, 1), [4])
          })

          it('may be reset to the newest few', async () => {
            await using database = await store.fresh()
            const tm = await openWith(await database.open(), tracking)
            const reader = tm.reader<number>('events', { group: 'g' })
            await reader.ready()
            await publishWithGaps(tm)
            await consume(reader, 10)
            await tm.admin.resetGroup('events', 'g', 'beginning', { backfill: { maxMessages: 3 } })
            assert.deepEqual((await consume(reader, 3)).sort(byNumber), [8, 9, 10])
            assert.equal(await reader.poll(0), null)
          })
        },
      )
    }

    it(
      `scope pending must be requested, and needs reference tracking, on ${store.name}`,
      needs(store, 'tracking'),
      async () => {
        await using database = await store.fresh()
        const tm = await openWith(await database.open(), 'reference')
        const first = tm.reader<number>('events', { group: 'first' })
        await first.ready()
        await tm.publishBatch('events', range(1, 5))
        await consume(first, 3)
        const pending = tm.reader('events', { group: 'pending', from: 'beginning', backfill: { scope: 'pending' } })
        assert.deepEqual(await consume(pending, 2), [4, 5])
        assert.equal(await pending.poll(0), null)
        const admin = await tm.admin.startBackfill('events', 'pending')
        assert.equal(admin.scope, 'retained')
        await tm.configureTopic('plain', { semantics: 'pub-sub' })
        const refused = tm.reader('plain', { group: 'pending', from: 'beginning', backfill: { scope: 'pending' } })
        await assert.rejects(
          refused.ready(),
          (error: Error) => error instanceof ConfigError && /offset/.test(error.message),
        )
      },
    )

    it(`a queue delivers everything, whatever the limit, on ${store.name}`, async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      await tm.publishBatch('jobs', range(1, 5))
      const reader = tm.reader('jobs', { backfill: { maxMessages: 1 } })
      assert.deepEqual(await consume(reader, 5), range(1, 5))
      const again = tm.reader('jobs', { from: 'now', backfill: false })
      await tm.publish('jobs', 6)
      assert.deepEqual(await consume(again, 1), [6])
    })
  }

  for (const store of shared) {
    for (const tracking of TRACKINGS) {
      it(
        `a limited resurrection redelivers exactly the newest, by ${tracking}, on ${store.name}`,
        needsTracking(store, tracking),
        async () => {
          await using database = await store.fresh()
          const tm = await openWith(await database.open(), tracking)
          const reader = tm.reader<number>('events', { group: 'g' })
          await reader.ready()
          await reader.close()
          await publishWithGaps(tm)
          await letDie(tm, database)
          const { skipped } = await tm.admin.resurrectGroup('events', 'g', { backfill: { maxMessages: 3 } })
          assert.equal(skipped, 7)
          const back = tm.reader<number>('events', { group: 'g' })
          assert.deepEqual(await consume(back, 3), [8, 9, 10])
          assert.equal(await back.poll(0), null)
        },
      )
    }
  }
}

const byNumber = (one: number, other: number): number => one - other

async function openWith(tm: Tidemark, tracking: Tracking): Promise<Tidemark> {
  await tm.configureTopic('events', { semantics: 'pub-sub', tracking, partitionRows: 10 })
  return tm
}

/** Ten messages. On PostgreSQL a duplicate draws an id too, so there are gaps between any two ids. */
async function publishWithGaps(tm: Tidemark) {
  const refs = []
  for (const n of range(1, 10)) {
    const messageId = `message-${n}`
    for (let again = 0; again < 4; again++) {
      const ref = await tm.publish('events', n, { messageId })
      if (!ref.duplicate) refs.push(ref)
    }
  }
  return refs
}
