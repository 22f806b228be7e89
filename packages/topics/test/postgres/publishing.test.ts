import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Kysely, PostgresDialect } from 'kysely'
import postgres from 'postgres'
import { PayloadError, TopicConflictError, TransactionError } from '../../src/errors.ts'
import { messageIdOf } from '../../src/payload/message-id.ts'
import type { RawMessage } from '../../src/payload/raw-message.ts'
import type { PublishedMessage } from '../../src/stores/log.ts'
import { admin, claimLease, drain, message, messages, open, request, server, useServer } from './store-bench.ts'

useServer()

/** The fields that are known before the publish, and those that it returns. */
const fieldsOf = ({ id, salt, payload, type, key, headers, messageId }: RawMessage) => ({
  ...{ id, salt, payload, type, key, headers, messageId },
})

describe('a topic', () => {
  it('keeps what was configured and counts versions', async () => {
    await using bench = await open({ maxAttempts: 3 })
    const same = await bench.store.topics.configure('topic', { maxAttempts: 3 })
    assert.equal(same.configVersion, 1)
    const changed = await bench.store.topics.configure('topic', { leaseMs: 7 })
    assert.deepEqual([changed.configVersion, changed.config.maxAttempts, changed.config.leaseMs], [2, 3, 7])
    assert.deepEqual(await bench.store.topics.find('topic'), changed)
    assert.equal(await bench.store.topics.find('other'), undefined)
    await assert.rejects(bench.store.topics.configure('topic', { partitionRows: 5 }), TopicConflictError)
    await bench.store.log.publish(bench.topic, messages(1))
    await assert.rejects(bench.store.topics.configure('topic', { semantics: 'queue' }), TopicConflictError)
  })
})

describe('publishing', () => {
  it('returns ids in order and gives back every field', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
    const sent = [
      message({ text: 'ünïcode € 𝄞 "quoted" \u0000' }, { key: 'k', headers: '{"a":"b"}' }),
      message(0, { payload: bytes, type: 'bytes' }),
      message(null),
      message('', { messageId: 'given' }),
      message([], { payload: new Uint8Array(0), type: 'type.example/x', key: '' }),
    ]
    const published = await bench.store.log.publish(bench.topic, sent)
    assert.deepEqual(
      published.map(({ id }) => id),
      published.map(({ id }) => id).toSorted((a, b) => a - b),
    )
    const lease = await claimLease(bench, subscription)
    assert.deepEqual(
      lease.messages.map(fieldsOf),
      sent.map((fields, index) => ({ id: published[index]?.id, salt: published[index]?.salt, ...fields })),
    )
    assert.ok(lease.messages.every(({ createdAt }) => Math.abs(createdAt - Date.now()) < 60_000))
  })

  it('returns the ids of a single message, with and without other fields', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    const sent = [
      message('plain €'),
      message('all', { key: 'k', headers: '{"a":"b"}' }),
      message(0, { payload: Uint8Array.of(0, 255), type: 'bytes' }),
    ]
    const published: PublishedMessage[] = []
    for (const each of sent) published.push(...(await bench.store.log.publish(bench.topic, [each])))
    const lease = await claimLease(bench, subscription)
    assert.deepEqual(
      lease.messages.map(fieldsOf),
      sent.map((fields, index) => ({ id: published[index]?.id, salt: published[index]?.salt, ...fields })),
    )
  })

  it('returns the ids of a batch if others draw ids in the middle of it', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    // As if a publish beside it drew an id after every second row.
    await admin.query(`
      create function "${bench.schema}".draw() returns trigger language plpgsql as $$
        begin perform nextval('"${bench.schema}".log_${bench.topic.id}_id') where new.id % 3 = 2; return new; end $$;
      create trigger draw before insert on "${bench.schema}".log_${bench.topic.id} for each row execute function "${bench.schema}".draw()`)
    const published = await bench.store.log.publish(bench.topic, messages(6))
    assert.deepEqual(
      published.map(({ id }) => id),
      [1, 2, 4, 5, 7, 8],
    )
    const lease = await claimLease(bench, subscription)
    assert.deepEqual(
      lease.messages.map(({ id, payload }) => [id, payload]),
      published.map(({ id }, index) => [id, JSON.stringify(index)]),
    )
  })

  it('gives back time, salt and transaction of every row, of one publish, two or many', async () => {
    await using bench = await open()
    for (const sizes of [[6], [2, 4], [5, 1], [1, 1], [1, 2, 3], [3, 1, 1, 1]]) {
      const subscription = await bench.store.subscriptions.subscribe(bench.topic, sizes.join('-'), 'now')
      const other = await bench.store.subscriptions.subscribe(bench.topic, `${sizes.join('-')} again`, 'now')
      const published: PublishedMessage[] = []
      for (const size of sizes) published.push(...(await bench.store.log.publish(bench.topic, messages(size))))
      const { rows } = await admin.query(
        `select id, salt, xid, floor(extract(epoch from created_at) * 1000) as created_at
         from "${bench.schema}".log_${bench.topic.id} where id >= ${published[0]?.id} order by id`,
      )
      for (const reader of [subscription, other]) {
        const lease = await claimLease(bench, reader, { shared: true })
        assert.deepEqual(
          lease.messages.map(({ id, salt, xid, createdAt }) => [id, salt, xid, createdAt].map(String)),
          rows.map(({ id, salt, xid, created_at }) => [id, salt, xid, created_at].map(String)),
        )
      }
    }
  })

  it('stores a large batch in the order given', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'beginning')
    await bench.store.log.publish(bench.topic, messages(5_000))
    assert.deepEqual(
      await drain(bench, subscription, { limit: 999 }),
      Array.from({ length: 5_000 }, (_, index) => index),
    )
  })

  it('returns a payload that is not text', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    const odd = ['a\u001eb', 'c']
    await bench.store.log.publish(
      bench.topic,
      odd.map(payload => message(0, { payload })),
    )
    const lease = await claimLease(bench, subscription)
    assert.deepEqual(
      lease.messages.map(({ payload }) => payload),
      odd,
    )
    await admin.query(`insert into "${bench.schema}".log_${bench.topic.id} (payload) values ('\\xff00')`)
    assert.equal((await claimLease(bench, subscription)).size, 1)
  })

  it('refuses a NUL in a key with a clear error', async () => {
    await using bench = await open()
    await assert.rejects(bench.store.log.publish(bench.topic, [message(1, { key: 'a\0' })]), PayloadError)
  })

  it('creates partitions ahead while eight publishers fill them', async () => {
    await using bench = await open({ partitionRows: 50 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'beginning')
    const publisher = async (index: number) => {
      for (let n = 0; n < 20; n++) await bench.store.log.publish(bench.topic, messages(17, index * 10_000 + n * 17))
    }
    await Promise.all(Array.from({ length: 8 }, (_, index) => publisher(index)))
    await bench.store.log.publish(bench.topic, messages(1_000, 900_000))
    const seen = await drain(bench, subscription, { limit: 500 })
    assert.equal(seen.length, 8 * 20 * 17 + 1_000)
    assert.equal(new Set(seen).size, seen.length)
  })

  describe('with a messageId', () => {
    it('stores it once', async () => {
      await using bench = await open()
      const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
      const [first, plain, again] = await bench.store.log.publish(bench.topic, [
        message(1, { messageId: 'a' }),
        message(2),
        message(3, { messageId: 'a' }),
      ])
      assert.deepEqual([again?.id, again?.duplicate], [first?.id, true])
      assert.equal(plain?.duplicate, false)
      const later = await bench.store.log.publish(bench.topic, [
        message(4, { messageId: 'a' }),
        message(5, { messageId: 'b' }),
      ])
      assert.deepEqual([later[0]?.id, later[0]?.duplicate], [first?.id, true])
      assert.deepEqual(await drain(bench, subscription), [1, 2, 5])
    })

    it('stores it once when many publish it at the same time, in any order', async () => {
      await using bench = await open()
      const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
      const ids = ['a', 'b', 'c', 'd', 'e']
      const publish = (shift: number) =>
        bench.store.log.publish(
          bench.topic,
          ids.map((_, index) => message(ids[(index + shift) % 5], { messageId: ids[(index + shift) % 5] ?? '' })),
        )
      const results = (await Promise.all(Array.from({ length: 10 }, (_, index) => publish(index)))).flat()
      assert.equal(results.filter(({ duplicate }) => !duplicate).length, 5)
      assert.deepEqual((await drain(bench, subscription)).toSorted(), ids)
    })

    it('forgets it after the window', async () => {
      await using bench = await open({ dedupeWindowMs: 20 })
      const [first] = await bench.store.log.publish(bench.topic, [message(1, { messageId: 'a' })])
      await delay(40)
      const [second] = await bench.store.log.publish(bench.topic, [message(2, { messageId: 'a' })])
      assert.equal(second?.duplicate, false)
      assert.notEqual(second?.id, first?.id)
    })

    it('knows the ids it generated itself', async () => {
      await using bench = await open()
      const [first] = await bench.store.log.publish(bench.topic, [message(1)])
      const derived = messageIdOf(bench.topic.uid, first?.salt ?? 0, first?.id ?? 0)
      const [other, again] = await bench.store.log.publish(bench.topic, [
        message(2),
        message(3, { messageId: derived }),
      ])
      assert.deepEqual([other?.duplicate, again?.id, again?.duplicate], [false, first?.id, true])
    })
  })

  describe('in a transaction of the caller', () => {
    it('is visible if and only if that commits: pg', async () => {
      await using bench = await open({ partitionRows: 10 })
      const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
      const client = await admin.connect()
      await client.query('begin')
      await bench.store.log.publish(bench.topic, messages(100), client)
      await client.query('rollback')
      await client.query('begin')
      const [one] = await bench.store.log.publish(
        bench.topic,
        [message('kept', { messageId: 'k', key: "it's" })],
        client,
      )
      await bench.store.log.publish(
        bench.topic,
        [message(0, { payload: Uint8Array.of(0, 200), type: 'bytes' })],
        client,
      )
      assert.equal((await bench.store.leases.claim(request(bench, subscription))).lease, null)
      await client.query('commit')
      const lease = await claimLease(bench, subscription)
      assert.deepEqual(
        lease.messages.map(({ id, payload, key }) => [id, payload, key]),
        [
          [one?.id, '"kept"', "it's"],
          [(one?.id ?? 0) + 1, Uint8Array.of(0, 200), null],
        ],
      )
      await assert.rejects(bench.store.log.publish(bench.topic, messages(1), client), TransactionError)
      client.release()
      await assert.rejects(bench.store.log.publish(bench.topic, messages(1), admin), TransactionError)
      await assert.rejects(bench.store.log.publish(bench.topic, messages(1), {}), TransactionError)
    })

    it('works with Kysely and postgres.js', async () => {
      await using bench = await open()
      const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
      const kysely = new Kysely({ dialect: new PostgresDialect({ pool: admin }) })
      await kysely.transaction().execute(async trx => {
        const [published] = await bench.store.log.publish(bench.topic, [message('kysely')], trx)
        assert.ok(published && published.id > 0)
      })
      await assert.rejects(bench.store.log.publish(bench.topic, messages(1), kysely), TransactionError)
      const sql = postgres(server.url, { max: 1 })
      await sql.begin(async trx => {
        await bench.store.log.publish(bench.topic, [message('postgres.js', { messageId: 'm' })], trx)
      })
      await sql.end()
      assert.deepEqual(await drain(bench, subscription), ['kysely', 'postgres.js'])
    })
  })
})
