import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { type PostgresServer, startPostgres } from '../../../testing/postgres-server.ts'
import { until } from '../../../testing/until.ts'
import {
  ClosedError,
  DatabaseError,
  DatabaseReadOnlyError,
  DatabaseUnreachableError,
  DatabaseVersionError,
  InvalidTransitionError,
  MessageNotFoundError,
  PayloadError,
  TopicConflictError,
  TransactionError,
} from '../src/errors.ts'
import { messageIdOf } from '../src/message-id.ts'
import { openPostgres, type PostgresOptions } from '../src/stores/postgres/postgres-store.ts'
import { schemaName } from '../src/stores/postgres/schema-name.ts'
import type {
  ClaimRequest,
  Lease,
  OutgoingMessage,
  Settlement,
  Store,
  SubscriptionRecord,
  TopicRecord,
} from '../src/stores/store.ts'
import type { TopicConfig } from '../src/topic-config.ts'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
let server: PostgresServer
let admin: pg.Pool
let count = 0

before(async () => {
  server = await startPostgres()
  admin = new pg.Pool({ connectionString: server.url, max: 20 })
  admin.on('error', () => {})
})

after(async () => {
  await admin.end()
  await server[Symbol.asyncDispose]()
})

const freshNamespace = () => `t${process.pid}_${++count}`

type Bench = AsyncDisposable & { store: Store; namespace: string; schema: string; topic: TopicRecord }

async function open(config: Partial<TopicConfig> = {}, options: Partial<PostgresOptions> = {}): Promise<Bench> {
  const namespace = options.namespace ?? freshNamespace()
  const store = await openStore(namespace, options)
  const topic = await store.configureTopic('topic', { semantics: 'pub-sub', ...config })
  return { store, namespace, schema: schemaName(namespace), topic, [Symbol.asyncDispose]: () => store.close() }
}

const openStore = (namespace: string, options: Partial<PostgresOptions> = {}) =>
  openPostgres({ url: server.url, rowCacheBytes: 1_000_000, logger: quiet, namespace, ...options })

const message = (payload: unknown, extra: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  payload: JSON.stringify(payload),
  type: null,
  key: null,
  headers: null,
  messageId: null,
  ...extra,
})

const messages = (n: number, from = 0) => Array.from({ length: n }, (_, index) => message(from + index))

const request = (
  { topic }: { topic: TopicRecord },
  subscription: SubscriptionRecord,
  extra: Partial<ClaimRequest> = {},
): ClaimRequest => ({
  topic,
  subscription,
  consumer: 'c-1',
  limit: 100,
  suspects: true,
  sweep: true,
  forget: [],
  shared: false,
  ...extra,
})

async function claimLease(
  bench: Bench,
  subscription: SubscriptionRecord,
  extra: Partial<ClaimRequest> = {},
): Promise<Lease> {
  const { lease } = await bench.store.claim(request(bench, subscription, extra))
  assert.ok(lease, 'nothing to claim')
  return lease
}

const payloads = ({ messages }: Lease) => messages.map(({ payload }) => JSON.parse(String(payload)))

const settlement = (token: string, extra: Partial<Settlement> = {}): Settlement => ({
  token,
  maxAttempts: 5,
  acks: [],
  nacks: [],
  releases: [],
  ...extra,
})

const ackAll = (lease: Lease): Settlement => settlement(lease.token, { acks: 'all' })
const nack = (slot: number, delayMs = 0) => ({ slot, delayMs, error: { name: 'Error', message: `slot ${slot}` } })

async function drain(
  bench: Bench,
  subscription: SubscriptionRecord,
  extra: Partial<ClaimRequest> = {},
): Promise<unknown[]> {
  const seen: unknown[] = []
  for (;;) {
    const { lease } = await bench.store.claim(request(bench, subscription, extra))
    if (!lease) return seen
    seen.push(...payloads(lease))
    await bench.store.settle([ackAll(lease)])
  }
}

const group = async (bench: Bench, name = 'g') =>
  (await bench.store.describeTopic(bench.topic)).groups.find(({ group }) => group === name)

describe('opening a PostgreSQL store', () => {
  it('creates the namespace once, whoever starts at the same time', async () => {
    const namespace = freshNamespace()
    const stores = await Promise.all(Array.from({ length: 8 }, () => openStore(namespace)))
    const topics = await Promise.all(stores.map(store => store.configureTopic('same', {})))
    assert.equal(new Set(topics.map(({ id }) => id)).size, 1)
    await Promise.all(stores.map(store => store.close()))
  })

  it('refuses a schema of a newer Tidemark', async () => {
    const bench = await open()
    await admin.query(`insert into "${bench.schema}".migration (version) values (99)`)
    await bench.store.close()
    await assert.rejects(openStore(bench.namespace), DatabaseVersionError)
  })

  it('says clearly what is wrong with the address, and never the password', async () => {
    const refused = openStore('x', { url: 'postgres://user:secret@127.0.0.1:1/db' })
    await assert.rejects(
      refused,
      error => error instanceof DatabaseUnreachableError && !error.message.includes('secret'),
    )
    const missing = openStore('x', { url: server.url.replace(/\/postgres$/, '/missing') })
    await assert.rejects(missing, error => error instanceof DatabaseError && /does not exist/.test(error.message))
  })

  it('says what right is missing where it may not create the schema', async () => {
    await admin.query('drop role if exists poor')
    await admin.query('create role poor login')
    const url = server.url.replace('postgres@', 'poor@')
    await assert.rejects(openStore(freshNamespace(), { url }), /Grant it CREATE/)
  })

  it('keeps namespaces apart, long names too', async () => {
    const long = 'n'.repeat(120)
    assert.ok(schemaName(long).length <= 63)
    assert.notEqual(schemaName(long), schemaName(`${long}n`))
    await using one = await open({}, { namespace: long })
    await using two = await open({}, { namespace: `${long}n` })
    await one.store.publish(one.topic, messages(3))
    assert.equal((await two.store.describeTopic(two.topic)).messagesPublished, 0)
    await one.store.dropNamespace()
    await two.store.dropNamespace()
    assert.deepEqual((await admin.query('select from pg_namespace where nspname = $1', [schemaName(long)])).rows, [])
  })

  it('closes twice and leaves no connection', async () => {
    const { store } = await open({}, { applicationName: 'leak-check' })
    await Promise.all([store.close(), store.close()])
    const left = async () =>
      (await admin.query("select from pg_stat_activity where application_name = 'leak-check'")).rows.length === 0
    await until(left, { what: 'the connections to end' })
  })
})

describe('closing', () => {
  it('waits for what runs, and for what waits for a connection', async () => {
    const bench = await open({}, { poolSize: 1 })
    const published = Array.from({ length: 20 }, (_, index) => bench.store.publish(bench.topic, [message(index)]))
    await bench.store.close()
    assert.equal((await Promise.all(published)).length, 20)
    await assert.rejects(bench.store.publish(bench.topic, messages(1)), ClosedError)
  })
})

describe('a read-only server', () => {
  it('is named as such', async () => {
    await using bench = await open()
    const { rows } = await admin.query<{ name: string }>('select current_database() as name')
    await admin.query(`alter database "${rows[0]?.name}" set default_transaction_read_only = on`)
    try {
      await using other = { store: await openStore(bench.namespace), [Symbol.asyncDispose]: async () => {} }
      await assert.rejects(other.store.publish(bench.topic, messages(1)), DatabaseReadOnlyError)
      await other.store.close()
    } finally {
      const client = new pg.Client({ connectionString: server.url, options: '-c default_transaction_read_only=off' })
      await client.connect()
      await client.query(`alter database "${rows[0]?.name}" reset default_transaction_read_only`)
      await client.end()
    }
  })
})

describe('a topic', () => {
  it('keeps what was configured and counts versions', async () => {
    await using bench = await open({ maxAttempts: 3 })
    const same = await bench.store.configureTopic('topic', { maxAttempts: 3 })
    assert.equal(same.configVersion, 1)
    const changed = await bench.store.configureTopic('topic', { leaseMs: 7 })
    assert.deepEqual([changed.configVersion, changed.config.maxAttempts, changed.config.leaseMs], [2, 3, 7])
    assert.deepEqual(await bench.store.topic('topic'), changed)
    assert.equal(await bench.store.topic('other'), undefined)
    await assert.rejects(bench.store.configureTopic('topic', { partitionRows: 5 }), TopicConflictError)
    await bench.store.publish(bench.topic, messages(1))
    await assert.rejects(bench.store.configureTopic('topic', { semantics: 'queue' }), TopicConflictError)
  })
})

describe('publishing', () => {
  it('returns ids in order and gives back every field', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
    const sent = [
      message({ text: 'ünïcode € 𝄞 "quoted" \u0000' }, { key: 'k', headers: '{"a":"b"}' }),
      message(0, { payload: bytes, type: 'bytes' }),
      message(null),
      message('', { messageId: 'given' }),
      message([], { payload: new Uint8Array(0), type: 'type.example/x', key: '' }),
    ]
    const published = await bench.store.publish(bench.topic, sent)
    assert.deepEqual(
      published.map(({ id }) => id),
      published.map(({ id }) => id).toSorted((a, b) => a - b),
    )
    const lease = await claimLease(bench, subscription)
    assert.deepEqual(
      lease.messages.map(({ createdAt, ...rest }) => rest),
      sent.map((fields, index) => ({ id: published[index]?.id, ...fields })),
    )
    assert.ok(lease.messages.every(({ createdAt }) => Math.abs(createdAt - Date.now()) < 60_000))
  })

  it('stores a large batch in the order given', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'beginning')
    await bench.store.publish(bench.topic, messages(5_000))
    assert.deepEqual(
      await drain(bench, subscription, { limit: 999 }),
      Array.from({ length: 5_000 }, (_, index) => index),
    )
  })

  it('gives a payload that is no text all the same', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    const odd = ['a\u001eb', 'c']
    await bench.store.publish(
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
    await assert.rejects(bench.store.publish(bench.topic, [message(1, { key: 'a\0' })]), PayloadError)
  })

  it('makes partitions ahead while eight publishers fill them', async () => {
    await using bench = await open({ partitionRows: 50 })
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'beginning')
    const publisher = async (index: number) => {
      for (let n = 0; n < 20; n++) await bench.store.publish(bench.topic, messages(17, index * 10_000 + n * 17))
    }
    await Promise.all(Array.from({ length: 8 }, (_, index) => publisher(index)))
    await bench.store.publish(bench.topic, messages(1_000, 900_000))
    const seen = await drain(bench, subscription, { limit: 500 })
    assert.equal(seen.length, 8 * 20 * 17 + 1_000)
    assert.equal(new Set(seen).size, seen.length)
  })

  describe('with a messageId', () => {
    it('stores it once', async () => {
      await using bench = await open()
      const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
      const [first, plain, again] = await bench.store.publish(bench.topic, [
        message(1, { messageId: 'a' }),
        message(2),
        message(3, { messageId: 'a' }),
      ])
      assert.deepEqual(again, { id: first?.id, duplicate: true })
      assert.equal(plain?.duplicate, false)
      const later = await bench.store.publish(bench.topic, [
        message(4, { messageId: 'a' }),
        message(5, { messageId: 'b' }),
      ])
      assert.deepEqual(later[0], { id: first?.id, duplicate: true })
      assert.deepEqual(await drain(bench, subscription), [1, 2, 5])
    })

    it('stores it once when many publish it at the same time, in any order', async () => {
      await using bench = await open()
      const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
      const ids = ['a', 'b', 'c', 'd', 'e']
      const publish = (shift: number) =>
        bench.store.publish(
          bench.topic,
          ids.map((_, index) => message(ids[(index + shift) % 5], { messageId: ids[(index + shift) % 5] ?? '' })),
        )
      const results = (await Promise.all(Array.from({ length: 10 }, (_, index) => publish(index)))).flat()
      assert.equal(results.filter(({ duplicate }) => !duplicate).length, 5)
      assert.deepEqual((await drain(bench, subscription)).toSorted(), ids)
    })

    it('forgets it after the window', async () => {
      await using bench = await open({ dedupeWindowMs: 20 })
      const [first] = await bench.store.publish(bench.topic, [message(1, { messageId: 'a' })])
      await delay(40)
      const [second] = await bench.store.publish(bench.topic, [message(2, { messageId: 'a' })])
      assert.equal(second?.duplicate, false)
      assert.notEqual(second?.id, first?.id)
    })

    it('knows the ids it made itself', async () => {
      await using bench = await open()
      const [first] = await bench.store.publish(bench.topic, [message(1)])
      const derived = messageIdOf(bench.topic.uid, first?.id ?? 0)
      const [other, again] = await bench.store.publish(bench.topic, [message(2), message(3, { messageId: derived })])
      assert.deepEqual([other?.duplicate, again], [false, { id: first?.id, duplicate: true }])
    })
  })

  describe('in a transaction of the caller', () => {
    it('is seen if and only if that commits: pg', async () => {
      await using bench = await open({ partitionRows: 10 })
      const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
      const client = await admin.connect()
      await client.query('begin')
      await bench.store.publish(bench.topic, messages(100), client)
      await client.query('rollback')
      await client.query('begin')
      const [one] = await bench.store.publish(bench.topic, [message('kept', { messageId: 'k', key: "it's" })], client)
      await bench.store.publish(bench.topic, [message(0, { payload: Uint8Array.of(0, 200), type: 'bytes' })], client)
      assert.equal((await bench.store.claim(request(bench, subscription))).lease, null)
      await client.query('commit')
      const lease = await claimLease(bench, subscription)
      assert.deepEqual(
        lease.messages.map(({ id, payload, key }) => [id, payload, key]),
        [
          [one?.id, '"kept"', "it's"],
          [(one?.id ?? 0) + 1, Uint8Array.of(0, 200), null],
        ],
      )
      await assert.rejects(bench.store.publish(bench.topic, messages(1), client), TransactionError)
      client.release()
      await assert.rejects(bench.store.publish(bench.topic, messages(1), admin), TransactionError)
      await assert.rejects(bench.store.publish(bench.topic, messages(1), {}), TransactionError)
    })

    it('works with Kysely and postgres.js', async () => {
      await using bench = await open()
      const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
      const kysely = new Kysely({ dialect: new PostgresDialect({ pool: admin }) })
      await kysely.transaction().execute(async trx => {
        const [published] = await bench.store.publish(bench.topic, [message('kysely')], trx)
        assert.ok(published && published.id > 0)
      })
      await assert.rejects(bench.store.publish(bench.topic, messages(1), kysely), TransactionError)
      const sql = postgres(server.url, { max: 1 })
      await sql.begin(async trx => {
        await bench.store.publish(bench.topic, [message('postgres.js', { messageId: 'm' })], trx)
      })
      await sql.end()
      assert.deepEqual(await drain(bench, subscription), ['kysely', 'postgres.js'])
    })
  })
})

describe('subscribing', () => {
  it('starts where it is told', async () => {
    await using bench = await open()
    const [first] = await bench.store.publish(bench.topic, [message(1)])
    await bench.store.publish(bench.topic, [message(2, { messageId: 'two' })])
    await delay(5)
    const timestamp = Date.now()
    await delay(5)
    await bench.store.publish(bench.topic, [message(3)])
    const starts = {
      now: 'now',
      beginning: 'beginning',
      derived: { messageId: messageIdOf(bench.topic.uid, first?.id ?? 0) },
      given: { messageId: 'two' },
      time: { timestamp },
      future: { timestamp: Date.now() + 3_600_000 },
    } as const
    const subscriptions = new Map<string, SubscriptionRecord>()
    for (const [name, from] of Object.entries(starts)) {
      subscriptions.set(name, await bench.store.subscribe(bench.topic, name, from))
    }
    await bench.store.publish(bench.topic, [message(4)])
    const expected = {
      now: [4],
      beginning: [1, 2, 3, 4],
      derived: [1, 2, 3, 4],
      given: [2, 3, 4],
      time: [3, 4],
      future: [],
    }
    for (const [name, subscription] of subscriptions) {
      assert.deepEqual(await drain(bench, subscription), expected[name as keyof typeof expected], name)
    }
    const unknown = bench.store.subscribe(bench.topic, 'x', { messageId: 'nowhere' })
    await assert.rejects(unknown, MessageNotFoundError)
  })

  it('finds a message that the dedupe table has forgotten', async () => {
    await using bench = await open()
    await bench.store.publish(bench.topic, [message(1), message(2, { messageId: 'two' }), message(3)])
    await admin.query(`delete from "${bench.schema}".dedupe`)
    assert.deepEqual(await drain(bench, await bench.store.subscribe(bench.topic, 'g', { messageId: 'two' })), [2, 3])
  })

  it('never skips, at a start in time, what commits later', async () => {
    await using bench = await open()
    const client = await admin.connect()
    const timestamp = Date.now() - 1_000
    await client.query('begin')
    await bench.store.publish(bench.topic, [message('late')], client)
    await bench.store.publish(bench.topic, [message('early')])
    const subscription = await bench.store.subscribe(bench.topic, 'g', { timestamp })
    await client.query('commit')
    client.release()
    assert.deepEqual((await drain(bench, subscription)).toSorted(), ['early', 'late'])
  })

  it('begins a queue at the beginning, whatever is asked', async () => {
    await using bench = await open({ semantics: 'queue' })
    await bench.store.publish(bench.topic, messages(2))
    assert.deepEqual(await drain(bench, await bench.store.subscribe(bench.topic, '', 'now')), [0, 1])
  })

  it('makes one subscription of many calls', async () => {
    await using bench = await open()
    await using other = await open({}, { namespace: bench.namespace })
    const stores = [bench.store, other.store, bench.store, other.store]
    const made = await Promise.all(stores.map(store => store.subscribe(bench.topic, 'g', 'now')))
    assert.equal(new Set(made.map(({ id }) => id)).size, 1)
    assert.equal(made.filter(({ created }) => created).length, 1)
  })

  it('changes status only as allowed', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    await bench.store.publish(bench.topic, messages(1))
    await bench.store.setStatus(bench.topic, subscription, 'PAUSED')
    const paused = await bench.store.claim(request(bench, subscription))
    assert.deepEqual([paused.status, paused.lease], ['PAUSED', null])
    await bench.store.setStatus(bench.topic, subscription, 'ACTIVE')
    await assert.rejects(bench.store.setStatus(bench.topic, subscription, 'ACTIVE'), InvalidTransitionError)
    await bench.store.setStatus(bench.topic, subscription, 'CANCELLED')
    await assert.rejects(bench.store.setStatus(bench.topic, subscription, 'PAUSED'), InvalidTransitionError)
    await assert.rejects(bench.store.subscribe(bench.topic, 'g', 'now'), InvalidTransitionError)
    const gone = await bench.store.claim(request(bench, { ...subscription, id: 999_999 }))
    assert.equal(gone.status, 'GONE')
  })
})

/** The plan of a statement with the settings that the function `claim` runs it with. */
async function explainAsClaim(schema: string, text: string): Promise<string> {
  const client = await admin.connect()
  try {
    await client.query('begin')
    const settings = await client.query<{ name: string; value: string }>(
      `select split_part(c, '=', 1) as name, split_part(c, '=', 2) as value
       from pg_proc, unnest(proconfig) as c where oid = (select oid from pg_proc where proname = 'claim' and pronamespace = $1::regnamespace)`,
      [schema],
    )
    for (const { name, value } of settings.rows) await client.query(`select set_config($1, $2, true)`, [name, value])
    return JSON.stringify((await client.query(`explain (format json) ${text}`)).rows)
  } finally {
    await client.query('rollback')
    client.release()
  }
}

describe('the snapshot cursor', () => {
  it('delivers what many writers commit, in whatever order, once and nothing else', async () => {
    await using bench = await open({ partitionRows: 200 })
    const groups = await Promise.all(['a', 'b'].map(name => bench.store.subscribe(bench.topic, name, 'now')))
    const committed = new Set<number>()
    let next = 0
    let isWriting = true
    const writer = async () => {
      const client = await admin.connect()
      for (let n = 0; n < 60; n++) {
        await client.query('begin')
        const mine: number[] = []
        for (let k = 0; k < 1 + Math.random() * 3; k++) {
          const batch = messages(1 + Math.floor(Math.random() * 4), next)
          next += batch.length
          mine.push(...batch.map(({ payload }) => Number(payload)))
          await bench.store.publish(bench.topic, batch, client)
          if (Math.random() < 0.3) await delay(Math.random() * 20)
        }
        const keep = Math.random() < 0.75
        await client.query(keep ? 'commit' : 'rollback')
        if (keep) for (const value of mine) committed.add(value)
      }
      client.release()
    }
    const watchWatermark = async () => {
      for (let last = 0n; isWriting; ) {
        const now = (await group(bench, 'a'))?.watermark ?? 0n
        assert.ok(now >= last, `the watermark went back from ${last} to ${now}`)
        last = now
      }
    }
    const reader = async (subscription: SubscriptionRecord) => {
      const seen: unknown[] = []
      for (;;) {
        const wasWriting = isWriting
        const limit = 1 + Math.floor(Math.random() * 30)
        const { lease } = await bench.store.claim(request(bench, subscription, { limit, shared: Math.random() < 0.7 }))
        if (lease) {
          seen.push(...payloads(lease))
          await bench.store.settle([ackAll(lease)])
        } else if (!wasWriting) return seen
      }
    }
    const readers = [...groups, ...groups].map(reader)
    const watching = watchWatermark()
    await Promise.all(Array.from({ length: 8 }, writer)).finally(() => {
      isWriting = false
    })
    await watching
    const [a1, b1, a2, b2] = await Promise.all(readers)
    for (const seen of [
      [...(a1 ?? []), ...(a2 ?? [])],
      [...(b1 ?? []), ...(b2 ?? [])],
    ]) {
      assert.equal(new Set(seen).size, seen.length, 'a duplicate')
      assert.deepEqual(new Set(seen), committed)
    }
    assert.equal((await group(bench, 'a'))?.backlog, 0)
  })

  it('lets a forgotten transaction delay only its own messages', async () => {
    await using bench = await open({ partitionRows: 50 })
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    const client = await admin.connect()
    await client.query('begin')
    await bench.store.publish(bench.topic, [message('held')], client)
    const seen: unknown[] = []
    let watermark = 0n
    for (let n = 0; n < 10; n++) {
      await bench.store.publish(bench.topic, messages(40, n * 40))
      seen.push(...(await drain(bench, subscription)))
      const now = (await group(bench))?.watermark ?? 0n
      assert.ok(now >= watermark)
      watermark = now
    }
    assert.equal(seen.length, 400)
    await client.query('commit')
    client.release()
    assert.deepEqual(await drain(bench, subscription), ['held'])
    await bench.store.publish(bench.topic, [message('after')])
    assert.deepEqual(await drain(bench, subscription), ['after'])
    assert.ok(((await group(bench))?.watermark ?? 0n) > watermark)
  })

  it('reads at most two partitions of ten when it follows the tail', async () => {
    await using bench = await open({ partitionRows: 50 })
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'beginning')
    for (let n = 0; n < 50; n++) {
      await bench.store.publish(bench.topic, messages(10, n * 10))
      await bench.store.settle([ackAll(await claimLease(bench, subscription))])
    }
    await bench.store.publish(bench.topic, messages(10))
    const { schema, topic } = bench
    const partitions = `select from pg_inherits where inhparent = '${schema}.log_${topic.id}'::regclass`
    assert.ok((await admin.query(partitions)).rows.length >= 10)
    for (const row of [
      's',
      `${schema}.next_window(s, pg_current_snapshot(), ${schema}.last_id(s.topic_id), ${schema}.last_id(s.topic_id))`,
    ]) {
      const { rows } = await admin.query<{ text: string }>(
        `select ${schema}.window_query('*', ${row}, 100) as text from ${schema}.subscription as s where s.id = ${subscription.id}`,
      )
      const plan = await explainAsClaim(schema, rows[0]?.text ?? '')
      const touched = new Set(plan.match(/log_\d+_p\d+(?=")/g))
      assert.ok(touched.size >= 1 && touched.size <= 2, `${[...touched]} of ${rows[0]?.text}`)
    }
  })

  it('reads a long window by its index, whatever the statistics say', async () => {
    await using bench = await open({ partitionRows: 5_000 })
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'beginning')
    for (let n = 0; n < 6; n++) await bench.store.publish(bench.topic, messages(2_000))
    await claimLease(bench, subscription)
    const { schema } = bench
    const { rows } = await admin.query<{ text: string }>(
      `select ${schema}.window_query('*', s, 100) as text from ${schema}.subscription as s where s.id = ${subscription.id}`,
    )
    assert.doesNotMatch(await explainAsClaim(schema, rows[0]?.text ?? ''), /"Sort"|Bitmap|Seq Scan/)
  })

  it('costs an idle group no transaction', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    const next = async () => BigInt((await admin.query('select pg_current_xact_id()::text as x')).rows[0].x)
    const before = await next()
    for (let n = 0; n < 20; n++) await bench.store.claim(request(bench, subscription))
    assert.equal((await next()) - before, 1n)
  })

  it('shares rows among the groups of a process', async () => {
    await using bench = await open()
    const names = ['a', 'b', 'c']
    const groups = await Promise.all(names.map(name => bench.store.subscribe(bench.topic, name, 'now')))
    const seen: Record<string, unknown[]> = { a: [], b: [], c: [] }
    for (let n = 0; n < 10; n++) {
      await bench.store.publish(bench.topic, messages(20, n * 20))
      const leases = []
      for (const subscription of groups) {
        const lease = await claimLease(bench, subscription, { shared: true })
        seen[subscription.group]?.push(...payloads(lease))
        leases.push(lease)
      }
      if (n > 0) assert.equal(leases[0]?.messages[0], leases[1]?.messages[0])
    }
    for (const name of names)
      assert.deepEqual(
        seen[name],
        Array.from({ length: 200 }, (_, index) => index),
      )
  })

  it('fetches what has left the cache', async () => {
    await using bench = await open({}, { rowCacheBytes: 2_000 })
    const groups = await Promise.all(['a', 'b'].map(name => bench.store.subscribe(bench.topic, name, 'now')))
    await bench.store.publish(bench.topic, messages(300))
    const everything = Array.from({ length: 300 }, (_, index) => index)
    for (const subscription of groups) {
      assert.deepEqual(await drain(bench, subscription, { shared: true, limit: 50 }), everything)
    }
  })
})

describe('a claim', () => {
  it('gives each message to one of many competing consumers', async () => {
    await using bench = await open()
    await using other = await open({}, { namespace: bench.namespace })
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'beginning')
    await bench.store.publish(bench.topic, messages(2_000))
    const seen = await Promise.all([bench, other, bench, other].map(store => drain(store, subscription, { limit: 37 })))
    const all = seen.flat().map(Number)
    assert.deepEqual(
      all.toSorted((a, b) => a - b),
      Array.from({ length: 2_000 }, (_, index) => index),
    )
  })

  it('says when the next retry is due or the next lease runs out', async () => {
    await using bench = await open({ leaseMs: 60_000 })
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    assert.equal((await bench.store.claim(request(bench, subscription))).nextDueMs, null)
    await bench.store.publish(bench.topic, messages(2))
    const { lease, nextDueMs } = await bench.store.claim(request(bench, subscription))
    assert.ok(nextDueMs && nextDueMs > 50_000 && nextDueMs <= 60_000)
    await bench.store.settle([settlement(lease?.token ?? '', { acks: [0], nacks: [nack(1, 5_000)] })])
    const waiting = await bench.store.claim(request(bench, subscription))
    assert.equal(waiting.lease, null)
    assert.ok(waiting.nextDueMs && waiting.nextDueMs > 3_000 && waiting.nextDueMs <= 5_000)
  })

  it('tells of a changed configuration', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    await bench.store.configureTopic('topic', { maxAttempts: 9 })
    assert.equal((await bench.store.claim(request(bench, subscription))).configVersion, 2)
  })
})

describe('settling', () => {
  it('is idempotent', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    await bench.store.publish(bench.topic, messages(4))
    const lease = await claimLease(bench, subscription)
    const parts = settlement(lease.token, { acks: [0], nacks: [nack(1, 60_000)] })
    const expected = [{ stale: [], deadLettered: [], finished: false }]
    assert.deepEqual(await bench.store.settle([parts]), expected)
    assert.deepEqual(await bench.store.settle([parts]), expected)
    assert.deepEqual(await bench.store.settle([settlement(lease.token, { nacks: [nack(0)] })]), expected)
    const finished = [{ stale: [], deadLettered: [], finished: true }]
    assert.deepEqual(await bench.store.settle([ackAll(lease)]), finished)
    assert.deepEqual(await bench.store.settle([ackAll(lease)]), finished)
    const { inFlight, retries, backlog } = (await group(bench)) ?? {}
    assert.deepEqual([inFlight, retries, backlog], [0, 1, 0])
  })

  it('settles many leases in one call, whatever their state', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    await bench.store.publish(bench.topic, messages(6))
    const one = await claimLease(bench, subscription, { limit: 2 })
    const two = await claimLease(bench, subscription, { limit: 2 })
    const three = await claimLease(bench, subscription, { limit: 2 })
    const results = await bench.store.settle([
      ackAll(three),
      settlement(one.token, { acks: [0] }),
      ackAll(two),
      settlement(one.token, { acks: [1] }),
      settlement('11111111-1111-4111-8111-111111111111:3', { acks: 'all' }),
    ])
    assert.deepEqual(
      results.map(({ finished, stale }) => [finished, stale]),
      [
        [true, []],
        [false, []],
        [true, []],
        [true, []],
        [true, [0, 1, 2]],
      ],
    )
  })

  it('tries a nacked message again until its attempts are used up, then buries it once', async () => {
    await using bench = await open({ maxAttempts: 3 })
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    await bench.store.publish(bench.topic, [message('bad', { key: 'k', messageId: 'given' }), message('good')])
    const first = await claimLease(bench, subscription)
    await bench.store.settle([settlement(first.token, { maxAttempts: 3, acks: [1], nacks: [nack(0)] })])
    for (const attempt of [2, 3]) {
      const lease = await claimLease(bench, subscription)
      assert.deepEqual([payloads(lease), lease.attempts, lease.versions], [['bad'], [attempt], [attempt]])
      const [result] = await bench.store.settle([settlement(lease.token, { maxAttempts: 3, nacks: [nack(0)] })])
      assert.deepEqual(result?.deadLettered, attempt === 3 ? [0] : [])
    }
    assert.equal((await bench.store.claim(request(bench, subscription))).lease, null)
    const [letter, ...others] = await bench.store.deadLetters(bench.topic, { limit: 10, group: 'g' })
    assert.deepEqual(others, [])
    assert.deepEqual(
      [
        letter?.message.payload,
        letter?.message.key,
        letter?.message.messageId,
        letter?.attempts,
        letter?.error.message,
      ],
      ['"bad"', 'k', 'given', 3, 'slot 0'],
    )
    assert.deepEqual(
      letter?.history.map(({ attempt }) => attempt),
      [1, 2, 3],
    )
    assert.deepEqual(await bench.store.deadLetters(bench.topic, { limit: 10, after: letter?.id ?? 0 }), [])
    assert.equal((await group(bench))?.deadLetters, 1)
  })

  it('gives released messages back at once without counting the attempt', async () => {
    await using bench = await open({ maxAttempts: 1 })
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    await bench.store.publish(bench.topic, messages(3))
    const first = await claimLease(bench, subscription)
    await bench.store.settle([settlement(first.token, { acks: [1], releases: [0, 2] })])
    const second = await claimLease(bench, subscription)
    assert.deepEqual([payloads(second), second.attempts, second.suspect], [[0, 2], [1, 1], false])
    await bench.store.settle([settlement(second.token, { acks: [0], releases: [1] })])
    const third = await claimLease(bench, subscription)
    assert.deepEqual([payloads(third), third.attempts, third.versions], [[2], [1], [3]])
    const [result] = await bench.store.settle([settlement(third.token, { maxAttempts: 1, nacks: [nack(0)] })])
    assert.deepEqual(result?.deadLettered, [0])
  })

  it('extends a live lease only', async () => {
    await using bench = await open({ leaseMs: 1_000 })
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    await bench.store.publish(bench.topic, messages(1))
    const lease = await claimLease(bench, subscription)
    assert.equal(await bench.store.extend(lease.token, 60_000), true)
    const { nextDueMs } = await bench.store.claim(request(bench, subscription))
    assert.ok(nextDueMs && nextDueMs > 50_000)
    await bench.store.settle([ackAll(lease)])
    assert.equal(await bench.store.extend(lease.token, 60_000), false)
  })
})

describe('a lease that runs out', () => {
  it('is split: what was not settled comes back as suspects, one at a time', async () => {
    await using bench = await open({ leaseMs: 30, maxAttempts: 2 })
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    await bench.store.publish(bench.topic, messages(4))
    const lost = await claimLease(bench, subscription)
    await bench.store.settle([settlement(lost.token, { acks: [1], nacks: [nack(2, 60_000)] })])
    await delay(50)
    const blind = await bench.store.claim(request(bench, subscription, { sweep: false }))
    assert.equal(blind.takenOver, 0)
    const sweep = await bench.store.claim(request(bench, subscription, { suspects: false }))
    assert.deepEqual([sweep.takenOver, sweep.deadLettered, sweep.lease], [2, 0, null])
    // Settled slots succeed, the others are stale and change nothing.
    assert.deepEqual(await bench.store.settle([ackAll(lost)]), [{ stale: [0, 3], deadLettered: [], finished: true }])
    assert.equal(await bench.store.extend(lost.token, 1_000), false)

    await bench.store.configureTopic('topic', { leaseMs: 60_000 })
    const one = await claimLease(bench, subscription)
    const two = await claimLease(bench, subscription)
    assert.deepEqual([one.size, two.size, one.suspect, one.attempts, one.versions], [1, 1, true, [2], [2]])
    assert.deepEqual([...payloads(one), ...payloads(two)].toSorted(), [0, 3])
    await bench.store.settle([ackAll(one), settlement(two.token, { maxAttempts: 2, nacks: [nack(0)] })])
    const [letter] = await bench.store.deadLetters(bench.topic, { limit: 1 })
    assert.deepEqual(
      letter?.history.map(({ name }) => name),
      ['LeaseExpiredError', 'Error'],
    )
    assert.match(letter?.history[0]?.message ?? '', /consumer 'c-1' ran out/)
  })

  it('ends with the dead letters when nobody ever settles', async () => {
    await using bench = await open({ leaseMs: 10, maxAttempts: 3 })
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    await bench.store.publish(bench.topic, messages(2))
    const attempts = new Map<unknown, number[]>()
    const step = async () => {
      const { lease } = await bench.store.claim(request(bench, subscription))
      for (const [index, value] of lease ? payloads(lease).entries() : []) {
        attempts.set(value, [...(attempts.get(value) ?? []), lease?.attempts?.[index] ?? 1])
      }
      await delay(10)
      return (await bench.store.deadLetters(bench.topic, { limit: 10 })).length === 2
    }
    await until(step, { what: 'both messages to be buried' })
    assert.deepEqual(
      [...attempts.values()],
      [
        [1, 2, 3],
        [1, 2, 3],
      ],
    )
    const described = await group(bench)
    assert.deepEqual([described?.retries, described?.inFlight, described?.deadLetters], [0, 0, 2])
  })

  it('never does with lease 0', async () => {
    await using bench = await open({ leaseMs: 0 })
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'now')
    await bench.store.publish(bench.topic, messages(1))
    await claimLease(bench, subscription)
    const again = await bench.store.claim(request(bench, subscription))
    assert.deepEqual([again.lease, again.nextDueMs], [null, null])
  })
})

describe('a description', () => {
  it('counts what is where', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscribe(bench.topic, 'g', 'beginning')
    await bench.store.publish(bench.topic, messages(10))
    const lease = await claimLease(bench, subscription, { limit: 6 })
    await bench.store.settle([settlement(lease.token, { acks: [0, 1], nacks: [nack(2, 60_000)] })])
    const { messagesPublished } = await bench.store.describeTopic(bench.topic)
    const { backlog, inFlight, retries, status } = (await group(bench)) ?? {}
    assert.deepEqual([messagesPublished, backlog, inFlight, retries, status], [10, 4, 3, 1, 'ACTIVE'])
  })
})

describe('wake-ups', () => {
  it('reach the other processes of the namespace only', async () => {
    await using bench = await open()
    await using other = await open({}, { namespace: bench.namespace })
    await using stranger = await open()
    const heard: unknown[] = []
    bench.store.watch(() => heard.push('self'))
    other.store.watch(topicId => heard.push(topicId))
    stranger.store.watch(() => heard.push('stranger'))
    assert.ok(bench.store.capabilities.notifies)
    for (let n = 0; n < 50; n++) await bench.store.publish(bench.topic, messages(1))
    await until(() => heard.includes(bench.topic.id), { what: 'the wake-up' })
    await bench.store.close()
    assert.deepEqual([...new Set(heard)], [bench.topic.id])
  })

  it('come back after the listening connection was lost', async () => {
    await using bench = await open({}, { applicationName: 'lost-listener' })
    await using other = await open({}, { namespace: bench.namespace })
    const heard: unknown[] = []
    bench.store.watch(topicId => heard.push(topicId))
    await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lost-listener'")
    await until(() => heard.includes(null), { what: 'the hint that something may be missed' })
    await other.store.publish(bench.topic, messages(1))
    await until(() => heard.includes(bench.topic.id), { what: 'the wake-up' })
  })
})

describe('when the server restarts', () => {
  it('goes on by itself, and loses nothing that was acknowledged', async () => {
    await using own = await startPostgres({ durable: true })
    const store = await openPostgres({ url: own.url, namespace: 'default', rowCacheBytes: 1_000, logger: quiet })
    const topic = await store.configureTopic('topic', { leaseMs: 200 })
    const bench = { store, topic, namespace: 'default', schema: 'tidemark', [Symbol.asyncDispose]: () => store.close() }
    const subscription = await store.subscribe(topic, '', 'beginning')
    await store.publish(topic, messages(10))
    await claimLease(bench, subscription, { limit: 5 })
    await own.kill()
    await assert.rejects(store.publish(topic, messages(1, 100)), DatabaseUnreachableError)
    await own.start()
    const works = () =>
      store.publish(topic, messages(1, 200)).then(
        () => true,
        () => false,
      )
    await until(works, { what: 'a publish to work again' })
    const seen = new Set<unknown>()
    const step = async () => {
      const { lease } = await store.claim(request(bench, subscription))
      if (lease) {
        for (const value of payloads(lease)) seen.add(value)
        await store.settle([ackAll(lease)])
      }
      return seen.size === 11
    }
    await until(step, { what: 'everything to be delivered' })
    await own.stop()
    await store.close()
  })
})
