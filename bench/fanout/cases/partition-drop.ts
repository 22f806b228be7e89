import type { Client } from 'pg'
import { open } from 'tidemark'
import type { CleanUpStep } from '../../../packages/topics/src/stores/log.ts'
import { openPostgres } from '../../../packages/topics/src/stores/postgres/store.ts'
import type { Store } from '../../../packages/topics/src/stores/store.ts'
import type { TopicRecord } from '../../../packages/topics/src/stores/topic-record.ts'
import { type Figure, figure, ratioAtLeast } from '../../figure.ts'
import type { BenchCase } from '../../topics/bench-case.ts'
import type { BenchEngine } from '../../topics/engines/engine.ts'
import { connect } from '../../topics/engines/postgres-client.ts'
import { PAGE } from '../../topics/log-filling.ts'
import { orders } from '../../topics/payloads.ts'

const TOPIC = 'partition-drop'
const TABLES = ['raw_batches', 'raw_delete', 'raw_drop']
const DELETE_BATCH = 10_000
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * Messages past their retention are old: neither the server nor the system has them in memory any more, so both sides begin
 * without. (Memory makes deleting quicker, and dropping slower: the system gives a file's cached pages back one by one.)
 */
export const partitionDrop: BenchCase<BenchEngine> = {
  name: 'partition-drop',
  about: 'removing 1 000 000 old messages by dropping their partition, next to deleting the rows',
  engines: ['postgres'],
  async run({ engine, size, progress }) {
    const count = size(1_000_000)
    await fill(engine.url, count, progress)
    const sealed = await within(engine.url, async ({ client, step, topic }) => {
      // It reads the partition once, when that is full: long before its retention is over.
      const sealing = await measured(client, () => stepUntil(step, ({ more, removed }) => more && removed === 0))
      progress('copying the partition')
      for (const table of TABLES) await copyPartition(client, `tidemark.log_${topic.id}_p0`, table)
      await client.query('vacuum analyze')
      return sealing
    })
    await engine.forgetCaches()
    return await within(engine.url, async ({ client, step, topic, store }) => {
      // So that neither side pays for what a session reads first.
      await store.inspection.describe(topic)
      const deleted = await measured(client, () => deleteInBatches(client, 'raw_batches'))
      const vacuumed = await measured(client, () => client.query('vacuum raw_batches'))
      const deletedAtOnce = await measured(client, () => deleteAtOnce(client))
      await client.query('checkpoint')
      const rawDrop = await measured(client, () => client.query('drop table raw_drop'))
      const dropped = await measured(client, () => stepUntil(step, ({ removed }) => removed > 0))
      return toFigures(count, { sealed, deleted, vacuumed, deletedAtOnce, rawDrop, dropped })
    })
  },
}

type Cost = { readonly ms: number; readonly walBytes: number }
type Costs = { readonly [name in 'sealed' | 'deleted' | 'vacuumed' | 'deletedAtOnce' | 'rawDrop' | 'dropped']: Cost }

function toFigures(count: number, costs: Costs): Figure[] {
  const { sealed, deleted, vacuumed, deletedAtOnce, rawDrop, dropped } = costs
  const perSecond = (ms: number): number => (count * 1_000) / ms
  const ours = { engine: 'postgres', unit: '/s', ours: perSecond(dropped.ms) } as const
  return [
    figure({
      case: 'messages removed, by dropping a partition',
      ...ours,
      raw: perSecond(deleted.ms + vacuumed.ms),
      target: ratioAtLeast(100),
      note:
        `decided, detached concurrently and dropped: ${dropped.ms.toFixed(0)} ms; ` +
        `raw: as the specification's job deletes, 10 000 at a time, ${deleted.ms.toFixed(0)} ms, and vacuum ` +
        `${vacuumed.ms.toFixed(0)} ms. ` +
        `Sealing reads a partition once in its life: ${sealed.ms.toFixed(0)} ms`,
    }),
    figure({
      case: 'messages removed, next to one DELETE of all of them and VACUUM',
      ...ours,
      raw: perSecond(deletedAtOnce.ms),
      note: `raw: ${deletedAtOnce.ms.toFixed(0)} ms in one transaction, which nobody would do to a table in use`,
    }),
    figure({
      case: 'messages removed, next to a bare DROP TABLE of the same rows',
      ...ours,
      raw: perSecond(rawDrop.ms),
      note: `the bare drop takes ${rawDrop.ms.toFixed(0)} ms: the file system's time to give the space back`,
    }),
    figure({
      case: 'WAL written to remove a message',
      engine: 'postgres',
      unit: 'B/msg',
      ours: (sealed.walBytes + dropped.walBytes) / count,
      raw: (deleted.walBytes + vacuumed.walBytes) / count,
    }),
  ]
}

type Place = {
  readonly client: Client
  readonly store: Store
  readonly topic: TopicRecord
  step(): Promise<CleanUpStep>
}

async function within<T>(url: string, work: (place: Place) => Promise<T>): Promise<T> {
  const store = await openPostgres({ url, namespace: 'default', rowCacheBytes: 0, logger: quiet })
  const client = await connect(url)
  try {
    const topic = await store.topics.find(TOPIC)
    if (topic === undefined) throw new Error('The topic is gone')
    return await work({ client, store, topic, step: () => store.log.cleanUp(topic, 10_000) })
  } finally {
    await client.end()
    await store.close()
  }
}

async function copyPartition(client: Client, partition: string, table: string): Promise<void> {
  await client.query(`create table ${table} (like ${partition} including all)`)
  await client.query(`insert into ${table} select * from ${partition}`)
}

/** One partition full, and one message beyond. Nobody is subscribed, and nothing is kept for anybody. */
async function fill(url: string, count: number, progress: (text: string) => void): Promise<void> {
  await using tidemark = await open(url)
  await tidemark.configureTopic(TOPIC, {
    semantics: 'pub-sub',
    partitionRows: count,
    lease: 0,
    retention: 0,
    zeroSubscriptionRetention: 0,
  })
  progress(`publishing ${count} messages`)
  const batch = orders(PAGE)
  for (let published = 0; published <= count; published += batch.length) await tidemark.publishBatch(TOPIC, batch)
}

async function deleteAtOnce(client: Client): Promise<void> {
  await client.query('delete from raw_delete')
  await client.query('vacuum raw_delete')
}

/** Short transactions, the oldest first, as a clean-up beside live traffic has to. */
async function deleteInBatches(client: Client, table: string): Promise<void> {
  const text = `delete from ${table} where id in (select id from ${table} order by id limit ${DELETE_BATCH})`
  while (((await client.query(text)).rowCount ?? 0) > 0);
}

async function measured(client: Client, work: () => Promise<unknown>): Promise<Cost> {
  const before = await walPosition(client)
  const started = performance.now()
  await work()
  const ms = performance.now() - started
  return { ms, walBytes: (await walPosition(client)) - before }
}

async function walPosition(client: Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>("select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes")
  return Number(rows[0]?.bytes)
}

async function stepUntil(step: () => Promise<CleanUpStep>, isIt: (step: CleanUpStep) => boolean): Promise<void> {
  while (!isIt(await step()));
}
