import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type pg from 'pg'
import { SeededRandom } from '../../../../testing/seeded-random.ts'
import { DEFAULT_BACKFILL } from '../../src/backfill/backfill-plan.ts'
import { messageIdOf } from '../../src/payload/message-id.ts'
import type { RawMessage } from '../../src/payload/raw-message.ts'
import type { StartPosition, SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import {
  ackAll,
  admin,
  type Bench,
  claimLease,
  drain,
  messages,
  nack,
  open,
  openStore,
  payloads,
  request,
  settlement,
  useServer,
} from './store-bench.ts'

useServer()

const LIMIT = 5
const TOGETHER = { shared: true, limit: LIMIT }
const ONE = { shared: true, limit: 1 }

const subscribed = (bench: Bench, ...groups: string[]): Promise<SubscriptionRecord[]> =>
  Promise.all(groups.map(group => bench.store.subscriptions.subscribe(bench.topic, group, 'beginning')))

async function transaction(): Promise<AsyncDisposable & { client: pg.PoolClient }> {
  const client = await admin.connect()
  await client.query('begin')
  return { client, [Symbol.asyncDispose]: async () => client.release() }
}

describe('a page that another group has read', () => {
  it('is claimed without being read again, and settled, failed and read again like any other', async () => {
    await using bench = await open({ leaseMs: 60_000 })
    const [first, second] = (await subscribed(bench, 'first', 'second')) as [SubscriptionRecord, SubscriptionRecord]
    await bench.store.log.publish(bench.topic, messages(30))
    await claimLease(bench, first, TOGETHER)
    await claimLease(bench, second, TOGETHER)
    const read = await claimLease(bench, first, TOGETHER)
    const known = await claimLease(bench, second, TOGETHER)
    assert.equal(known.messages, read.messages)
    assert.deepEqual(payloads(known), [5, 6, 7, 8, 9])
    await bench.store.leases.settle([
      settlement(known.token, { size: LIMIT, acks: [0, 4], nacks: [nack(1)], releases: [2, 3] }),
    ])
    assert.deepEqual(payloads(await claimLease(bench, second)), [6, 7, 8])
    assert.deepEqual(
      payloads(await claimLease(bench, second)),
      Array.from({ length: 20 }, (_, at) => 10 + at),
    )
  })

  it('is shared from the first page on by groups that start together', async () => {
    await using bench = await open()
    await bench.store.log.publish(bench.topic, messages(30))
    const [first, second] = (await subscribed(bench, 'first', 'second')) as [SubscriptionRecord, SubscriptionRecord]
    const read = await claimLease(bench, first, TOGETHER)
    const known = await claimLease(bench, second, TOGETHER)
    assert.equal(known.messages, read.messages)
    assert.deepEqual(payloads(known), [0, 1, 2, 3, 4])
    const late = await bench.store.subscriptions.subscribe(bench.topic, 'late', 'now')
    await bench.store.log.publish(bench.topic, messages(2, 30))
    assert.deepEqual(payloads(await claimLease(bench, late, TOGETHER)), [30, 31])
  })

  it('is not claimed by a group that asks for less, is elsewhere or starts later', async () => {
    await using bench = await open()
    const published = await bench.store.log.publish(bench.topic, messages(30))
    const eighth = messageIdOf(bench.topic.uid, published[7]?.salt ?? 0, published[7]?.id ?? 0)
    const [reader, other] = (await subscribed(bench, 'reader', 'other')) as [SubscriptionRecord, SubscriptionRecord]
    for (let n = 0; n < 6; n++) await claimLease(bench, reader, TOGETHER)
    assert.deepEqual(payloads(await claimLease(bench, other, TOGETHER)), [0, 1, 2, 3, 4])
    assert.deepEqual(payloads(await claimLease(bench, other, { shared: true, limit: 3 })), [5, 6, 7])
    assert.deepEqual(payloads(await claimLease(bench, other, TOGETHER)), [8, 9, 10, 11, 12])
    const later = await bench.store.subscriptions.subscribe(bench.topic, 'later', { messageId: eighth })
    assert.deepEqual((await drain(bench, later, TOGETHER)).at(0), 7)
  })

  it('is claimed in parts, without counting attempts, if its rows are too large to be read at once', async () => {
    // 138 MB: on a busy machine a statement takes longer than the 30 seconds of the default.
    await using bench = await open({}, { statementTimeoutMs: 300_000 })
    const [first, second] = (await subscribed(bench, 'first', 'second')) as [SubscriptionRecord, SubscriptionRecord]
    await bench.store.log.publish(bench.topic, messages(4))
    const payload = JSON.stringify('x'.repeat(46 * 1024 ** 2))
    const [large] = messages(1)
    assert.ok(large)
    for (let number = 0; number < 3; number++) await bench.store.log.publish(bench.topic, [{ ...large, payload }])
    for (const limit of [2, 2]) await claimLease(bench, first, { shared: true, limit })
    await claimLease(bench, second, { shared: true, limit: 3 })
    const leases = []
    for (let got = 0; got < 4; got += leases.at(-1)?.size ?? 0)
      leases.push(await claimLease(bench, second, { shared: true, limit: 1_000 }))
    const ids = leases.flatMap(lease => lease.messages.map(({ id }) => id))
    assert.deepEqual(
      ids.toSorted((a, b) => a - b),
      [4, 5, 6, 7],
    )
    assert.ok(leases.length > 1)
    assert.deepEqual(
      leases.flatMap(lease => lease.attempts ?? []).filter(attempt => attempt !== 1),
      [],
    )
  })

  it('is not claimed if another process has moved the group on', async () => {
    await using bench = await open()
    await bench.store.log.publish(bench.topic, messages(30))
    const [reader, other] = (await subscribed(bench, 'reader', 'other')) as [SubscriptionRecord, SubscriptionRecord]
    for (let n = 0; n < 6; n++) await claimLease(bench, reader, TOGETHER)
    await claimLease(bench, other, TOGETHER)
    const elsewhere = await openStore(bench.namespace)
    await elsewhere.leases.claim(request(bench, other, TOGETHER))
    await elsewhere.close()
    assert.deepEqual(payloads(await claimLease(bench, other, TOGETHER)), [10, 11, 12, 13, 14])
  })

  it('is not claimed by a group that saw one of its transactions in progress', async () => {
    await using bench = await open()
    await bench.store.log.publish(bench.topic, messages(1, 1))
    await using writer = await transaction()
    await bench.store.log.publish(bench.topic, messages(1, 2), writer.client)
    await bench.store.log.publish(bench.topic, messages(2, 3))
    const [early] = (await subscribed(bench, 'early')) as [SubscriptionRecord]
    assert.deepEqual(payloads(await claimLease(bench, early, ONE)), [1])
    await writer.client.query('commit')
    const [late] = (await subscribed(bench, 'late')) as [SubscriptionRecord]
    assert.deepEqual(await drain(bench, late, ONE), [1, 2, 3, 4])
    assert.deepEqual(await drain(bench, early, ONE), [3, 4, 2])
  })

  it('is not claimed by a group that has had it, and returns for a late transaction', async () => {
    await using bench = await open()
    await using writer = await transaction()
    await bench.store.log.publish(bench.topic, messages(2, 1), writer.client)
    await bench.store.log.publish(bench.topic, messages(2, 3))
    const [early] = (await subscribed(bench, 'early')) as [SubscriptionRecord]
    assert.deepEqual(await drain(bench, early, ONE), [3, 4])
    await writer.client.query('commit')
    const [late] = (await subscribed(bench, 'late')) as [SubscriptionRecord]
    assert.deepEqual(await drain(bench, late, ONE), [1, 2, 3, 4])
    assert.deepEqual(await drain(bench, early, ONE), [1, 2])
  })

  it('is not claimed by a group that starts at a message or time after it', async () => {
    await using bench = await open()
    await using writer = await transaction()
    await bench.store.log.publish(bench.topic, messages(1, 1), writer.client)
    await bench.store.log.publish(bench.topic, messages(1, 2))
    // Rounded up to the next millisecond, and waited for.
    const { rows } = await admin.query<{ now: string }>(
      `select ceil(extract(epoch from clock_timestamp()) * 1000) as now, pg_sleep(0.002)`,
    )
    const now = Number(rows[0]?.now)
    const [third] = await bench.store.log.publish(bench.topic, messages(2, 3), writer.client)
    await writer.client.query('commit')
    const [all] = (await subscribed(bench, 'all')) as [SubscriptionRecord]
    assert.deepEqual(await drain(bench, all, ONE), [1, 2, 3, 4])
    for (const from of [
      { messageId: messageIdOf(bench.topic.uid, third?.salt ?? 0, third?.id ?? 0) },
      { timestamp: now },
    ]) {
      const name = Object.keys(from)[0]
      const later = await bench.store.subscriptions.subscribe(bench.topic, `later-${name}`, from)
      const alone = await bench.store.subscriptions.subscribe(bench.topic, `alone-${name}`, from)
      const expected = await drain(bench, alone)
      assert.deepEqual(expected.slice(0, 2), [3, 4])
      assert.deepEqual(await drain(bench, later, ONE), expected)
    }
  })

  it('is claimed only at its place, within the limit and in the life of the server in which it was read', async () => {
    await using bench = await open()
    await bench.store.log.publish(bench.topic, messages(10))
    const [subscription] = (await subscribed(bench, 'group')) as [SubscriptionRecord]
    await claimLease(bench, subscription, { limit: 2 })
    const isClaimed = async (known: object, request: object = {}, state: object = {}): Promise<boolean | null> => {
      const { rows } = await admin.query<{ is_known: boolean | null }>(
        `
        select (${bench.functions}.claim_known_page(
          jsonb_populate_record(null::${bench.functions}.claim_request, $1), jsonb_populate_record(s, $2),
          jsonb_populate_record(null::${bench.functions}.claim_terms, '{"lease": "1 minute"}'),
          jsonb_populate_record(null::${bench.functions}.claim_result, '{"server": "this life"}'))).is_known
        from ${bench.schema}.subscription as s where s.id = $3`,
        [
          {
            token: randomUUID(),
            consumer: 'c-1',
            page_limit: 3,
            ...request,
            known: { at_id: 2, first_id: 3, last_id: 5, size: 3, server: 'this life', ...known },
          },
          state,
          subscription.id,
        ],
      )
      return rows[0]?.is_known ?? null
    }
    assert.equal(await isClaimed({ server: 'another life' }), null)
    assert.equal(await isClaimed({ at_id: 1 }), null)
    assert.equal(await isClaimed({}, { page_limit: 2 }), null)
    assert.equal(await isClaimed({}, {}, { from_id: 3 }), null)
    assert.equal(await isClaimed({ last_id: 1_000 }), null)
    assert.equal(await isClaimed({}), true)
  })

  it('is read once by groups that reach it at the same time', async () => {
    await using bench = await open()
    await bench.store.log.publish(bench.topic, messages(30))
    const groups = await subscribed(bench, 'a', 'b', 'c', 'd')
    for (const subscription of groups) await claimLease(bench, subscription, TOGETHER)
    const leases = await Promise.all(groups.map(subscription => claimLease(bench, subscription, TOGETHER)))
    assert.equal(new Set(leases.map(({ messages: of }) => of)).size, 1)
  })

  it('never hides a message, in whatever order transactions commit and groups move', async t => {
    const random = new SeededRandom()
    await random.named(async () => {
      await using bench = await open({ partitionRows: 60 })
      const writers = new Writers(bench, random)
      const groups: Group[] = []
      for (let step = 0; step < 1_200; step++) {
        if (step % 200 === 0) groups.push(await Group.subscribe(bench, `group-${groups.length}`, random))
        if (random.chance(0.3)) await writers.step()
        else await random.pick(groups).claim()
        if (random.chance(0.005)) await random.pick(groups).goBack()
      }
      await writers.end()
      for (const each of groups) while (await each.claim());
      for (const { name, seen } of groups) {
        assert.deepEqual([...seen].sort(ascending), [...writers.committed].sort(ascending), name)
      }
      const known = groups.reduce((sum, each) => sum + each.known, 0)
      t.diagnostic(`${known} pages of ${groups.reduce((sum, each) => sum + each.pages, 0)} were not read again`)
      assert.ok(known > 20)
    })
  })
})

const ascending = (a: number, b: number): number => a - b

/** Transactions that publish, and commit or not, in any order. */
class Writers {
  readonly committed: number[] = []
  readonly #bench: Bench
  readonly #random: SeededRandom
  readonly #open: { client: pg.PoolClient; values: number[] }[] = []
  #next = 0

  constructor(bench: Bench, random: SeededRandom) {
    this.#bench = bench
    this.#random = random
  }

  async step(): Promise<void> {
    // Mostly none or one is open: pages with one in progress among them can't be shared.
    if (this.#open.length > 0 && this.#random.chance(0.4)) return await this.#finish()
    const values = messages(1 + this.#random.below(6), this.#next)
    this.#next += values.length
    const numbers = values.map(({ payload }) => Number(payload))
    if (this.#open.length < 4 && this.#random.chance(0.3)) {
      const client = await admin.connect()
      await client.query('begin')
      await this.#bench.store.log.publish(this.#bench.topic, values, client)
      this.#open.push({ client, values: numbers })
    } else {
      await this.#bench.store.log.publish(this.#bench.topic, values)
      this.committed.push(...numbers)
    }
  }

  async end(): Promise<void> {
    while (this.#open.length > 0) await this.#finish()
  }

  async #finish(): Promise<void> {
    const [writer] = this.#open.splice(this.#random.below(this.#open.length), 1)
    if (writer === undefined) return
    const isKept = this.#random.chance(0.7)
    await writer.client.query(isKept ? 'commit' : 'rollback')
    writer.client.release()
    if (isKept) this.committed.push(...writer.values)
  }
}

/** Pages by who got the array first. */
const readBy = new WeakMap<readonly RawMessage[], string>()

class Group {
  readonly name: string
  seen: number[] = []
  pages = 0
  /** Pages that were another group's. */
  known = 0
  readonly #bench: Bench
  readonly #subscription: SubscriptionRecord

  /** From the beginning, told in one way or another. */
  static async subscribe(bench: Bench, name: string, random: SeededRandom): Promise<Group> {
    const from: StartPosition = random.chance(0.8) ? 'beginning' : { timestamp: 0 }
    return new Group(bench, name, await bench.store.subscriptions.subscribe(bench.topic, name, from))
  }

  constructor(bench: Bench, name: string, subscription: SubscriptionRecord) {
    this.#bench = bench
    this.name = name
    this.#subscription = subscription
  }

  async claim(): Promise<boolean> {
    const { lease } = await this.#bench.store.leases.claim(request(this.#bench, this.#subscription, TOGETHER))
    if (lease === null) return false
    this.seen.push(...payloads(lease))
    this.pages++
    if ((readBy.get(lease.messages) ?? this.name) !== this.name) this.known++
    else readBy.set(lease.messages, this.name)
    await this.#bench.store.leases.settle([ackAll(lease)])
    return true
  }

  async goBack(): Promise<void> {
    const { store, topic } = this.#bench
    await store.subscriptions.resetCursor(topic, this.#subscription, 'beginning', DEFAULT_BACKFILL)
    this.seen = []
  }
}
