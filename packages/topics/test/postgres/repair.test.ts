import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { isLong } from '../../../../testing/long.ts'
import { type PostgresServer, startPostgres } from '../../../../testing/postgres-server.ts'
import { until } from '../../../../testing/until.ts'
import {
  DatabaseInUseError,
  DatabaseRestoredError,
  diagnose,
  open,
  type Reader,
  repair,
  type Tidemark,
  type Tracking,
} from '../../src/index.ts'
import { schemaName } from '../../src/stores/postgres/schema-name.ts'
import { burnTransactions, copyNamespace } from './logical-copy.ts'
import { freshNamespace, messages, openStore, quiet, request } from './store-bench.ts'

let old: PostgresServer
/** Its transaction counter stands lower than the old one's, or higher. */
let lower: PostgresServer
let higher: PostgresServer

before(async () => {
  const other = () => startPostgres({ ownIdentity: true })
  ;[old, lower, higher] = await Promise.all([startPostgres(), other(), other()])
  await Promise.all([burnTransactions(old.url, 5_000), burnTransactions(higher.url, 20_000)])
})

after(async () => {
  await Promise.all([old, lower, higher].map(server => server[Symbol.asyncDispose]()))
})

const SETTINGS = {
  semantics: 'pub-sub',
  lease: '1s',
  maxAttempts: 50,
  backoff: { initial: '10ms', max: '10ms' },
  partitionRows: 40,
} as const
const openAt = (server: PostgresServer, namespace: string): Promise<Tidemark> =>
  open(server.url, { namespace, maintenance: false, logger: quiet, sweepInterval: '20ms' })

/** Everything the group has yet to get, and how often each message came. */
async function drain(tm: Tidemark, topic: string, group: string): Promise<number[]> {
  const reader = tm.reader(topic, { group })
  const got: number[] = []
  for (;;) {
    const delivery = await reader.poll(200)
    if (delivery !== null) {
      got.push(delivery.id)
      await reader.ack(delivery)
      continue
    }
    const health = (await tm.admin.groups(topic)).find(each => each.group === group)
    assert.ok(health)
    if (health.lagMessages + health.inFlight + health.retries === 0) break
  }
  await reader.close()
  return got.sort((a, b) => a - b)
}

/** Writers that commit out of order, groups that begin anywhere and leave messages in every state. */
async function liveSomeTime(tm: Tidemark, tracking: Tracking, seed: number): Promise<string[]> {
  await tm.configureTopic('orders', { ...SETTINGS, tracking })
  const published: string[] = []
  const clients = await Promise.all(
    [1, 2, 3].map(async () => {
      const client = new pg.Client({ connectionString: old.url })
      await client.connect()
      return { client, isOpen: false }
    }),
  )
  const readers = new Map<string, Reader>()
  const steps = fc.sample(fc.record({ what: fc.nat(9), who: fc.nat(2), count: fc.integer({ min: 1, max: 12 }) }), {
    seed,
    numRuns: 50,
  })
  for (const { what, who, count } of steps) {
    const writer = clients[who]
    if (what <= 2) {
      const payloads = Array.from({ length: count }, (_, at) => at)
      published.push(...(await tm.publishBatch('orders', payloads)).map(({ messageId }) => messageId))
    }
    if (what >= 3 && what <= 5 && writer) {
      if (!writer.isOpen) await writer.client.query('begin')
      else if (count % 4 === 0) await writer.client.query('rollback')
      else await writer.client.query('commit')
      writer.isOpen = !writer.isOpen
      if (writer.isOpen) for (let n = 0; n < count; n++) await tm.publish('orders', n, { tx: writer.client })
    }
    if (what >= 6) {
      const group = `group-${who}-${what % 2}`
      const messageId = published[Math.floor(published.length / 2)]
      const from = what % 2 === 0 ? 'beginning' : who === 0 || messageId === undefined ? 'now' : { messageId }
      const reader = readers.get(group) ?? tm.reader('orders', { group, from, batchSize: 7 })
      readers.set(group, reader)
      for (let n = 0; n < count; n++) {
        const delivery = await reader.poll(0)
        if (delivery === null) break
        if (n % 9 === 8) await reader.nack(delivery)
        else if (n % 9 !== 7) await reader.ack(delivery)
      }
    }
  }
  // Neither ended nor in the dump.
  for (const { client } of clients) await client.end()
  return [...readers.keys()]
}

describe('a namespace restored into another cluster', () => {
  const random = Number(process.env.TIDEMARK_TEST_SEED || Math.floor(Math.random() * 1e9))
  for (const [tracking, seed] of [
    ['offset', isLong ? random : 2],
    ['reference', random],
  ] as const) {
    it(`delivers what the old one would have, and nothing twice (tracked by ${tracking}, seed ${seed})`, async () => {
      const namespace = freshNamespace()
      const expected = new Map<string, number[]>()
      {
        await using tm = await openAt(old, namespace)
        const groups = await liveSomeTime(tm, tracking, seed)
        await copyNamespace(old.url, lower.url, namespace)
        await copyNamespace(old.url, higher.url, namespace)
        await tm.close()
        await using again = await openAt(old, namespace)
        await Promise.all(groups.map(async group => expected.set(group, await drain(again, 'orders', group))))
      }
      assert.ok([...expected.values()].some(({ length }) => length > 20))
      await assert.rejects(openAt(lower, namespace), DatabaseRestoredError)
      assert.equal((await repair(lower.url, { namespace })).problems.length, 1)
      for (const server of [lower, higher]) {
        await using tm = await openAt(server, namespace)
        const { id } = await tm.publish('orders', 'from now on')
        const got = await Promise.all([...expected.keys()].map(group => drain(tm, 'orders', group)))
        assert.deepEqual(
          got,
          [...expected.values()].map(ids => [...ids, id]),
        )
        assert.deepEqual((await tm.admin.health()).inconsistencies, [])
      }
    })
  }

  it('accepts settlements of earlier leases, and redelivers the rest when they expire', async () => {
    const namespace = freshNamespace()
    const before = await openStore(namespace, { url: old.url })
    const topic = await before.topics.configure('topic', { semantics: 'pub-sub', leaseMs: 1_000 })
    const subscription = await before.subscriptions.subscribe(topic, 'group', 'beginning')
    await before.log.publish(topic, messages(5))
    const { lease } = await before.leases.claim(request({ topic }, subscription))
    const token = lease?.token ?? ''
    const ack = (...acks: number[]) => [{ token, size: 5, maxAttempts: 5, acks, nacks: [], releases: [] }]
    await before.leases.settle(ack(0, 1))
    await copyNamespace(old.url, lower.url, namespace)
    await before.close()
    await repair(lower.url, { namespace })

    const here = await openStore(namespace, { url: lower.url })
    assert.deepEqual(await here.leases.settle(ack(2)), [{ stale: [], deadLettered: [], finished: false }])
    const got: { id: number; attempt: number | undefined }[] = []
    await until(
      async () => {
        const { lease: next } = await here.leases.claim(request({ topic }, subscription))
        for (const [at, { id }] of (next?.messages ?? []).entries()) got.push({ id, attempt: next?.attempts?.[at] })
        return got.length === 2
      },
      { what: 'the lease to run out' },
    )
    assert.deepEqual(got, [
      { id: 4, attempt: 2 },
      { id: 5, attempt: 2 },
    ])
    assert.deepEqual((await here.leases.settle(ack(3)))[0]?.stale, [3])
    await here.close()
  })

  it('accepts earlier receipts', async () => {
    const namespace = freshNamespace()
    const before = await openAt(old, namespace)
    await before.publishBatch('work', [1, 2, 3])
    const { receipt } = await before.pull('work', undefined, { max: 3, lease: '1h' })
    await copyNamespace(old.url, lower.url, namespace)
    await before.close()
    await repair(lower.url, { namespace })
    const here = await openAt(lower, namespace)
    await here.settle(receipt ?? '', { acks: 'all' })
    assert.equal((await here.admin.groups('work'))[0]?.inFlight, 0)
    await here.close()
  })

  it('delivers the rest of its backfill to a late group', async () => {
    const namespace = freshNamespace()
    await using tm = await openAt(old, namespace)
    await tm.configureTopic('tracked', { ...SETTINGS, tracking: 'reference', retention: 'forever' })
    await tm.reader('tracked', { group: 'first' }).poll(0)
    const payloads = Array.from({ length: 200 }, (_, at) => at)
    const published = await tm.publishBatch('tracked', payloads)
    const late = tm.reader('tracked', { group: 'late', from: 'now', batchSize: 5 })
    await late.poll(0)
    // It ends with close(), long before it is done.
    const backfill = { scope: 'retained', batchSize: 20, maxPerSecond: 20 } as const
    const running = tm.admin.startBackfill('tracked', 'late', backfill).catch(() => undefined)
    const acked = new Set<number>()
    while (acked.size < 10) {
      const delivery = await late.receive()
      await late.ack(delivery)
      acked.add(delivery.id)
    }
    assert.equal((await tm.admin.backfill('tracked', 'late'))?.status, 'RUNNING')
    await copyNamespace(old.url, lower.url, namespace)
    await tm.close()
    await running

    await repair(lower.url, { namespace })
    await using here = await openAt(lower, namespace)
    const { id } = await here.publish('tracked', 'from now on')
    const rest = published.map(each => each.id).filter(each => !acked.has(each))
    assert.deepEqual(await drain(here, 'tracked', 'late'), [...rest, id])
    assert.equal((await drain(here, 'tracked', 'first')).length, 201)
    const unfinished = await here.admin.completion('tracked', { unfinished: true })
    assert.deepEqual(unfinished, [])
  })

  it('drops partitions that were full before', async () => {
    const namespace = freshNamespace()
    const quick = { ...SETTINGS, partitionRows: 5, lease: '100ms', retention: '100ms' } as const
    {
      await using tm = await openAt(old, namespace)
      await tm.configureTopic('orders', quick)
      const reader = tm.reader('orders', { group: 'group', from: 'beginning' })
      for (let n = 0; n < 20; n++) {
        await tm.publish('orders', n)
        await reader.ack(await reader.receive())
      }
      await tm.admin.jobs.messages.runOnce()
      await copyNamespace(old.url, lower.url, namespace)
    }
    await repair(lower.url, { namespace })
    await using here = await openAt(lower, namespace)
    await until(
      async () => {
        await here.admin.jobs.messages.runOnce()
        return (await here.admin.browse('orders')).messages.every(({ id }) => id >= 15)
      },
      { what: 'the partitions to be dropped' },
    )
    const { id } = await here.publish('orders', 'from now on')
    assert.deepEqual(await drain(here, 'orders', 'group'), [id])
  })

  it('delivers what was published there before the repair', async () => {
    const namespace = freshNamespace()
    await using tm = await openAt(old, namespace)
    await tm.configureTopic('orders', SETTINGS)
    const reader = tm.reader('orders', { group: 'group', from: 'beginning' })
    await tm.publish('orders', 1)
    await reader.ack(await reader.receive())
    await copyNamespace(old.url, lower.url, namespace)
    await tm.close()
    const client = new pg.Client({ connectionString: lower.url })
    await client.connect()
    await client.query(`insert into "${schemaName(namespace)}".log_1 (payload) values ('2')`)
    await client.end()
    await repair(lower.url, { namespace })
    await using here = await openAt(lower, namespace)
    assert.deepEqual(await drain(here, 'orders', 'group'), [2])
  })

  it('keeps every messageId, and reuses no id', async () => {
    const namespace = freshNamespace()
    const published: string[] = []
    {
      await using tm = await openAt(old, namespace)
      await tm.configureTopic('orders', { ...SETTINGS, maxAttempts: 1 })
      const reader = await tm.reader('orders', { group: 'group' }).ready()
      for (const count of [1, 3, 2]) {
        const refs = await tm.publishBatch('orders', new Array(count).fill('message'))
        published.push(...refs.map(({ messageId }) => messageId))
      }
      await reader.nack(await reader.receive(), new Error('never'))
      published.push((await tm.publish('orders', 'given', { messageId: 'given' })).messageId)
    }
    await copyNamespace(old.url, lower.url, namespace)
    // A dump without its sequences, of a log whose newest messages were cleaned up.
    const client = new pg.Client({ connectionString: lower.url })
    await client.connect()
    const schema = `"${schemaName(namespace)}"`
    await client.query(`select setval('${schema}.log_1_id', 1, false)`)
    await client.query(`delete from ${schema}.log_1 where id > 6`)
    await client.end()
    await repair(lower.url, { namespace })
    await using here = await openAt(lower, namespace)
    const { messages } = await here.admin.browse('orders')
    assert.deepEqual(
      messages.map(({ messageId }) => messageId),
      published.slice(0, 6),
    )
    const [letter] = await here.admin.deadLetters('orders')
    assert.equal(letter?.messageId, published[0])
    assert.deepEqual(await here.publish('orders', 'given', { messageId: 'given' }), {
      ...{ topic: 'orders', id: 7, messageId: 'given', duplicate: true },
    })
    const [next] = await here.publishBatch('orders', ['new'])
    assert.ok((next?.id ?? 0) > 7 && !published.includes(next?.messageId ?? ''))
    const reset = { messageId: published[4] ?? '' }
    await here.admin.resetGroup('orders', 'group', reset)
    const delivery = await here.reader('orders', { group: 'group' }).receive()
    assert.equal(delivery.messageId, published[4])
  })

  it('is found by diagnose, repaired once, and not while somebody has it open', async () => {
    const namespace = freshNamespace()
    {
      await using tm = await openAt(old, namespace)
      await tm.configureTopic('orders', SETTINGS)
      await tm.publish('orders', 1)
    }
    await copyNamespace(old.url, lower.url, namespace)
    const cluster = async () =>
      (await diagnose(lower.url, { namespace })).find(({ check }) => check === 'cluster')?.state
    assert.equal(await cluster(), 'bad')
    assert.equal((await repair(lower.url, { namespace })).changes.length, 2)
    assert.equal(await cluster(), 'ok')
    const unchanged = { location: `127.0.0.1:${lower.port}/postgres`, problems: [], changes: [], mended: true }
    assert.deepEqual(await repair(lower.url, { namespace }), unchanged)
    await using here = await openAt(lower, namespace)
    await assert.rejects(repair(lower.url, { namespace }), DatabaseInUseError)
    await here.close()
    assert.deepEqual(await repair(lower.url, { namespace }), unchanged)
  })
})
