import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { freshDatabase } from '../../../../testing/databases.ts'
import { isLong } from '../../../../testing/long.ts'
import { SeededRandom } from '../../../../testing/seeded-random.ts'
import { until } from '../../../../testing/until.ts'
import { open, type Tidemark } from '../../src/index.ts'

const TOPIC = 'accounts'
const WRITERS = 8
const KEYS = 4
const ROUNDS = isLong ? 60 : 15

type Change = { readonly account: number; readonly n: number }
type Setup = { readonly tracking: 'offset' | 'reference' }

/** A database with accounts beside the topics: locking an account's row is what puts its writers in order. */
async function world({ tracking }: Setup) {
  const database = await freshDatabase()
  const tm = await open(database.url, { logger: silent })
  await tm.configureTopic(TOPIC, { semantics: 'pub-sub', tracking, partitionRows: 500 })
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    return client
  }
  const admin = await connect()
  await admin.query(`
    create table account (id int primary key, n int not null);
    insert into account select g, 0 from generate_series(1, ${KEYS}) as g;
    create table audit (text text)`)
  const dispose = async (): Promise<void> => {
    await tm.close()
    await admin.end()
    await database.drop()
  }
  return { tm, connect, [Symbol.asyncDispose]: dispose }
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** Locks the account, and publishes its next change, in the client's open transaction. */
async function change(tm: Tidemark, client: pg.Client, account: number): Promise<void> {
  const { rows } = await client.query<{ n: number }>('update account set n = n + 1 where id = $1 returning n', [
    account,
  ])
  await tm.publish(TOPIC, { account, n: rows[0]?.n }, { key: `account-${account}`, tx: client })
}

/** T2 has its transaction id before T1, and comes to the account after it. */
async function publishInLockOrder(tm: Tidemark, connect: () => Promise<pg.Client>): Promise<void> {
  const [t1, t2] = [await connect(), await connect()]
  await t2.query('begin')
  await t2.query("insert into audit values ('T2 writes something else first')")
  await t1.query('begin')
  await change(tm, t1, 1)
  await t1.query('commit')
  await change(tm, t2, 1)
  await t2.query('commit')
  await Promise.all([t1.end(), t2.end()])
}

/** Changes that came after a later one of their account. */
function inversions(changes: readonly Change[]): Change[] {
  const last = new Map<number, number>()
  return changes.filter(({ account, n }) => {
    const before = last.get(account) ?? 0
    last.set(account, Math.max(n, before))
    return n < before
  })
}

for (const tracking of ['offset', 'reference'] as const) {
  describe(`messages ordered by a lock, in a topic tracked by ${tracking}`, () => {
    it('are delivered in that order, even if the later writer has the lower transaction id', async () => {
      await using each = await world({ tracking })
      const { tm, connect } = each
      const reader = await tm.reader<Change>(TOPIC, { group: 'live', from: 'now' }).ready()
      await publishInLockOrder(tm, connect)
      const seen = [await reader.receive(), await reader.receive()]
      assert.deepEqual(
        seen.map(({ payload }) => payload.n),
        [1, 2],
      )
    })

    it('are delivered in that order to a group that starts afterwards', async () => {
      await using each = await world({ tracking })
      const { tm, connect } = each
      await publishInLockOrder(tm, connect)
      const reader = await tm.reader<Change>(TOPIC, { group: 'late', from: 'beginning' }).ready()
      const seen = [await reader.receive(), await reader.receive()]
      assert.deepEqual(
        seen.map(({ payload }) => payload.n),
        [1, 2],
      )
    })

    it('stay in order with eight writers that do other work first, commit at any time and roll back', async t => {
      const random = new SeededRandom()
      await random.named(async () => {
        await using each = await world({ tracking })
        const { tm, connect } = each
        const seen = { single: [] as Change[], shared: [] as Change[] }
        for (const name of ['single', 'shared'] as const) {
          const group = tm.consumerGroup<Change>(TOPIC, name, { batchSize: 7 })
          group.addConsumer(name, ({ payload }) => void seen[name].push(payload))
          await group.start({ from: 'now' })
        }
        const tailed: Change[] = []
        const ending = new AbortController()
        const tail = await tm.admin.tail(TOPIC, { signal: ending.signal })
        const tailing = (async () => {
          for await (const { payload } of tail) tailed.push(JSON.parse(String(payload)))
        })()
        const committed = { count: 0 }
        const write = async (): Promise<void> => {
          const client = await connect()
          for (let round = 0; round < ROUNDS; round++) {
            await client.query('begin')
            if (random.chance(0.5)) {
              await client.query("insert into audit values ('something else')")
              await delay(random.next() * 8)
            }
            await change(tm, client, 1 + random.below(KEYS))
            if (random.chance(0.3)) await delay(random.next() * 5)
            const isKept = random.chance(0.9)
            await client.query(isKept ? 'commit' : 'rollback')
            if (isKept) committed.count++
          }
          await client.end()
        }
        await Promise.all(Array.from({ length: WRITERS }, write))
        const all = (): boolean =>
          [seen.single, seen.shared, tailed].every(changes => changes.length >= committed.count)
        await until(all, { what: `${committed.count} changes to arrive`, timeout: 30_000 })
        ending.abort()
        await tailing
        t.diagnostic(`${committed.count} changes by ${WRITERS} writers`)
        assert.deepEqual(inversions(seen.single), [])
        assert.deepEqual(inversions(seen.shared), [])
        assert.deepEqual(inversions(tailed), [])
        assert.equal(seen.single.length, committed.count)
      })
    })
  })
}
