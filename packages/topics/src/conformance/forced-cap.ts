import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Delivery, Tidemark, TopicOptions } from '../index.ts'
import { type Cleaner, cleanerOf, DAY, HOUR } from './cleaning.ts'
import type { ConformanceDatabase, ConformanceStores } from './conformance-store.ts'
import { consume, groupOf, range, receive } from './consuming.ts'
import { it } from './it.ts'

const CAPPED: TopicOptions = {
  semantics: 'pub-sub',
  retention: '24h',
  maxRetention: '10d',
  lease: '1h',
  maxAttempts: 3,
  partitionRows: 10,
}

/** Messages up to this id are 11 days old, later ones are new; they are in different partitions. */
const OLD = 9

export function forcedCap({ secluded }: ConformanceStores): void {
  for (const store of secluded) {
    describe(`the forced cap on ${store.name}`, () => {
      const test = (name: string, body: (database: ConformanceDatabase, cleaner: Cleaner) => Promise<void>): void => {
        it(name, async () => {
          await using database = await store.fresh()
          await using cleaner = await cleanerOf(database)
          await body(database, cleaner)
        })
      }

      test('counts exactly what it removes from each group: not claimed, held, to be retried', async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('events', CAPPED)
        const readers = ['idle', 'busy', 'done'].map(group =>
          tm.reader('events', { group, from: 'beginning', batchSize: 4 }),
        )
        const [idle, busy, done] = readers
        assert.ok(idle && busy && done)
        await idle.ready()
        for (const n of range(1, OLD)) await tm.publish('events', n)
        await consume(done, OLD)
        // Of a first page: one acked, one to be retried, two held. Of a second, one is with the reader, three are
        // buffered there.
        const page = await take(busy, 5)
        await page[0]?.ack()
        await page[1]?.nack('later', { delay: '1h' })
        await cleaner.age('events', 11 * DAY)
        await publishNew(tm)
        assert.deepEqual(await cleaner.run(), { removed: OLD, lost: OLD + 8 })
        assert.deepEqual(
          cleaner.events['messages-lost'].map(({ group, count }) => [group, count]),
          [
            ['busy', 8],
            ['idle', 9],
          ],
        )
        const lost = await Promise.all(['idle', 'busy', 'done'].map(group => cleaner.lost('events', group)))
        assert.deepEqual(lost, [9, 8, 0])
        assert.equal((await groupOf(tm, 'events', 'busy')).retries, 0)
        assert.deepEqual(await consume(idle, 3), ['new 1', 'new 2', 'new 3'])
        // Nothing is counted twice.
        assert.deepEqual(await cleaner.run(), { removed: 0, lost: 0 })
      })

      test('counts what it takes from a paused group, which does not count as progress', async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('events', CAPPED)
        const reader = tm.reader('events', { group: 'g', from: 'beginning', batchSize: 4 })
        await reader.ready()
        for (const n of range(1, OLD)) await tm.publish('events', n)
        await take(reader, 2)
        await tm.admin.pauseGroup('events', 'g')
        await database.ageGroups(HOUR)
        const before = await groupOf(tm, 'events', 'g')
        await cleaner.age('events', 11 * DAY)
        await publishNew(tm)
        assert.deepEqual(await cleaner.run(), { removed: OLD, lost: OLD })
        assert.deepEqual(
          cleaner.events['messages-lost'].map(({ group, count }) => [group, count]),
          [['g', OLD]],
        )
        const after = await groupOf(tm, 'events', 'g')
        assert.deepEqual([after.status, after.lost, after.inFlight], ['PAUSED', OLD, 0])
        assert.deepEqual(after.movedAt, before.movedAt)
        // A page that is lost as a whole is nobody's any more.
        assert.deepEqual((await tm.admin.claims('events')).claims, [])
      })

      test('settles what is held: an ack and a nack of it succeed and change nothing', async (database, cleaner) => {
        const { tm, page, old, young } = await heldAcross(database, cleaner)
        assert.equal(old.length + young.length, page.length)
        await old[0]?.ack()
        await old[1]?.nack('too late', { delay: 0 })
        assert.equal((await groupOf(tm, 'events', 'g')).inFlight, young.length)
        assert.equal((await groupOf(tm, 'events', 'g')).retries, 0)
        assert.deepEqual(await tm.admin.deadLetters('events'), [])
      })

      test('leaves the rest of a lease as it was: each message under its own slot', async (database, cleaner) => {
        const { tm, young, database: other } = await heldAcross(database, cleaner)
        const [first, second, third] = young
        assert.ok(first && second && third)
        await first.ack()
        await second.nack('again', { delay: 0 })
        // Its neighbours are still held: only the failed one is delivered.
        const there = (await other.open()).reader('events', { group: 'g' })
        const again = await receive(there)
        assert.deepEqual([again.payload, again.version, again.attempt], ['new 2', 2, 2])
        await again.ack()
        assert.equal(await there.poll(0), null)
        await database.expireLeases()
        const taken = await receive(there)
        assert.deepEqual([taken.payload, taken.version], ['new 3', 2])
        await taken.ack()
        await assert.rejects(third.ack(), { code: 'TIDEMARK_STALE_DELIVERY' })
        assert.equal(await there.poll(0), null)
        const { inFlight, retries, backlog } = await groupOf(tm, 'events', 'g')
        assert.deepEqual({ inFlight, retries, backlog }, { inFlight: 0, retries: 0, backlog: 0 })
      })

      test('lets a half-emptied lease expire, and dead-letters the rest with its payload', async (database, cleaner) => {
        const { tm, young } = await heldAcross(database, cleaner, { maxAttempts: 1 })
        await database.expireLeases()
        assert.equal(await tm.reader('events', { group: 'g' }).poll(0), null)
        const letters = await tm.admin.deadLetters('events')
        assert.deepEqual(
          letters.map(({ payload }) => JSON.parse(String(payload))),
          young.map(({ payload }) => payload),
        )
      })

      test('settles retries that are held, one by one', async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('events', CAPPED)
        const reader = tm.reader('events', { group: 'g', from: 'beginning', batchSize: 20 })
        for (const n of range(1, OLD)) await tm.publish('events', n)
        await cleaner.age('events', 11 * DAY)
        await publishNew(tm)
        for (const delivery of await take(reader, OLD + 3)) await delivery.nack('once', { delay: 0 })
        const again = await take(reader, OLD + 3)
        assert.deepEqual(await cleaner.run(), { removed: OLD, lost: OLD })
        await again[0]?.nack('twice', { delay: 0 })
        assert.equal((await groupOf(tm, 'events', 'g')).inFlight, 3)
        await Promise.all(again.slice(OLD).map(delivery => delivery.nack('twice', { delay: 0 })))
        const last = await take(reader, 3)
        assert.deepEqual(last.map(({ payload, attempt }) => [payload, attempt]).sort(), [
          ['new 1', 3],
          ['new 2', 3],
          ['new 3', 3],
        ])
      })

      test('removes from a queue as well, and reports it', async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('jobs', { ...CAPPED, semantics: 'queue' })
        await tm.reader('jobs').ready()
        await tm.publishBatch('jobs', range(1, 15))
        await cleaner.age('jobs', 11 * DAY)
        assert.deepEqual(await cleaner.run(), { removed: 15, lost: 15 })
        assert.equal(await cleaner.lost('jobs', ''), 15)
      })

      test("with maxRetention 'none' removes nothing", async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('events', { ...CAPPED, maxRetention: 'none' })
        const reader = tm.reader('events', { group: 'g', from: 'beginning' })
        await reader.ready()
        await tm.publishBatch('events', range(1, 15))
        await cleaner.age('events', 1_000 * DAY)
        assert.deepEqual(await cleaner.run(), { removed: 0, lost: 0 })
        assert.deepEqual(await consume(reader, 15), range(1, 15))
      })
    })
  }
}

async function take(reader: Parameters<typeof receive>[0], count: number): Promise<Delivery[]> {
  const page: Delivery[] = []
  while (page.length < count) page.push(await receive(reader))
  return page
}

/** Ids from 10 on: in a partition without old messages. */
async function publishNew(tm: Tidemark): Promise<void> {
  for (const n of range(1, 3)) await tm.publish('events', `new ${n}`)
}

/** One lease holds a page of old and new messages when the cap removes the old ones. */
async function heldAcross(database: ConformanceDatabase, cleaner: Cleaner, more: TopicOptions = {}) {
  const tm = await database.open()
  await tm.configureTopic('events', { ...CAPPED, ...more })
  for (const n of range(1, OLD)) await tm.publish('events', n)
  await cleaner.age('events', 11 * DAY)
  await publishNew(tm)
  const page = await take(tm.reader('events', { group: 'g', from: 'beginning', batchSize: 20 }), OLD + 3)
  assert.deepEqual(await cleaner.run(), { removed: OLD, lost: OLD })
  return { tm, database, page, old: page.slice(0, OLD), young: page.slice(OLD) }
}
