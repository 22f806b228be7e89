/** Clean-up by bitmaps in every state: these tests write the bitmaps themselves, since groups would take long to get there. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Cleaner, cleanerOf, DAY, HOUR } from '../../src/conformance/cleaning.ts'
import { consume, range } from '../../src/conformance/consuming.ts'
import { SECLUDED_STORES, type TestDatabase } from './stores.ts'

/** The sign bit: the one that arithmetic gets wrong. */
const BIT = 63
const MASK = '-9223372036854775808'
const MESSAGES = 9

for (const store of SECLUDED_STORES) {
  describe(`retention by bitmaps on ${store.name}`, () => {
    it('keeps what a live group has not completed, even below its watermark', async () => {
      await using test = await tracked(store)
      await test.setBits(MASK, '0')
      assert.equal((await test.cleaner.run()).removed, 0)
      await test.setBits(MASK, MASK)
      assert.equal((await test.cleaner.run()).removed, MESSAGES)
      assert.equal(await test.tracks(), 0)
    })

    it('keeps what no group required for its own retention', async () => {
      await using test = await tracked(store)
      await test.setBits('0', '0')
      assert.equal((await test.cleaner.run()).removed, 0)
      await test.cleaner.age('events', 3 * DAY)
      assert.equal((await test.cleaner.run()).removed, MESSAGES)
    })

    it('a forced advance clears what is required of the group, and ends its backfill', async () => {
      await using test = await tracked(store)
      await test.setBits(MASK, '0')
      await test.backfill('RUNNING')
      const topic = await test.cleaner.topic('events')
      const subscription = await test.cleaner.store.subscriptions.subscribe(topic, 'g', 'now')
      assert.equal(await test.cleaner.store.subscriptions.forceAdvance(topic, subscription), MESSAGES)
      await test.cleaner.age('events', 3 * DAY)
      assert.deepEqual(await test.cleaner.run(), { removed: MESSAGES, lost: 0 })
    })

    it('an undelivered backfill pins what it covers, until the forced cap removes and counts it', async () => {
      await using test = await tracked(store)
      for (const status of ['RUNNING', 'COMPLETED']) {
        await test.backfill(status)
        await test.setBits(MASK, MASK)
        assert.equal((await test.cleaner.run()).removed, 0, `a ${status} one whose bits are lost`)
      }
      await test.setBits(MASK, '0', 'id <= 4')
      assert.equal((await test.cleaner.run()).removed, 0)
      await test.cleaner.age('events', 40 * DAY)
      assert.deepEqual(await test.cleaner.run(), { removed: MESSAGES, lost: 4 })
      assert.equal(await test.cleaner.lost('events', 'g'), 4)
    })
  })
}

/** A topic tracked by reference with messages that are old and read; their bits are set by hand. */
async function tracked(store: (typeof SECLUDED_STORES)[number]) {
  const database: TestDatabase = await store.fresh()
  const cleaner: Cleaner = await cleanerOf(database)
  const tm = await database.open()
  await tm.configureTopic('events', {
    semantics: 'pub-sub',
    tracking: 'reference',
    retention: '24h',
    zeroSubscriptionRetention: '72h',
    partitionRows: 10,
  })
  const { id } = await cleaner.topic('events')
  const reader = tm.reader('events', { group: 'g', from: 'beginning' })
  await reader.ready()
  for (const n of range(1, MESSAGES)) await tm.publish('events', n)
  await consume(reader, MESSAGES)
  await reader.close()
  await database.execute({
    sqlite: `update tidemark_subscription set bit = ${BIT}`,
    postgres: `update tidemark.subscription set bit = ${BIT}`,
  })
  await cleaner.age('events', 2 * DAY + HOUR)
  return {
    cleaner,
    async setBits(required: string, completed: string, where = 'true') {
      const upsert = `on conflict (id) do update set required = excluded.required, completed = excluded.completed`
      await database.execute({
        sqlite: `insert into tidemark_track_${id} (id, required, completed)
          select id, ${required}, ${completed} from tidemark_log_${id} where ${where} ${upsert}`,
        postgres: `insert into tidemark.track_${id} (id, xid, required, completed)
          select id, xid, '${required}', '${completed}' from tidemark.log_${id} where ${where} ${upsert}`,
      })
    },
    async tracks() {
      const [row] = await database.execute({
        sqlite: `select count(*) as n from tidemark_track_${id}`,
        postgres: `select count(*) as n from tidemark.track_${id}`,
      })
      return Number(row?.n)
    },
    async backfill(status: string) {
      const ids = `0, ${MESSAGES}, ${MESSAGES}, 0`
      await database.execute({
        sqlite: `insert or replace into tidemark_backfill (subscription_id, topic_id, epoch, status, scope, settings,
            lower_id, upper_id, checkpoint_id, cursor_id, started_at, updated_at)
          select id, topic_id, 1, '${status}', 'retained', '{}', ${ids}, 0, 0 from tidemark_subscription`,
        postgres: `delete from tidemark.backfill;
          insert into tidemark.backfill (subscription_id, topic_id, epoch, status, scope, settings, lower_from, lower_to,
            lower_place, upper, lower_id, upper_id, checkpoint_id, cursor_id)
          select id, topic_id, 1, '${status}', 'retained', '{}', '1:1:', '1:1:', 0, '1:1:', ${ids} from tidemark.subscription`,
      })
    },
    async [Symbol.asyncDispose]() {
      await cleaner[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}
