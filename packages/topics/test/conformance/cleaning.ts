/** Running the clean-up when a test wants it, and letting time pass for what is stored. */
import { it } from 'node:test'
import type { Events, Tidemark, TopicOptions } from 'tidemark'
import { until } from '../../../../testing/until.ts'
import type { JobContext } from '../../src/maintenance/job.ts'
import { MessageCleanUp } from '../../src/maintenance/message-clean-up.ts'
import { Instrumentation } from '../../src/observe/instrumentation.ts'
import { openPostgres } from '../../src/stores/postgres/store.ts'
import { openSqlite } from '../../src/stores/sqlite/store.ts'
import type { Store } from '../../src/stores/store.ts'
import type { TopicRecord } from '../../src/stores/topic-record.ts'
import { SILENT, type TestDatabase, type TestStore } from './stores.ts'

export const HOUR = 3_600_000
export const DAY = 24 * HOUR

export const KEPT_A_DAY: TopicOptions = {
  semantics: 'pub-sub',
  retention: '24h',
  maxRetention: '30d',
  partitionRows: 20,
}

/** A store of the same database, beside those that the test has opened. */
export const openStore = (url: string): Promise<Store> =>
  url.startsWith('sqlite:')
    ? openSqlite({
        path: url.slice('sqlite:'.length),
        durability: 'full',
        busyTimeoutMs: 10_000,
        ownFile: false,
        rowCacheBytes: 0,
      })
    : openPostgres({ url, namespace: 'default', rowCacheBytes: 0, poolSize: 3, logger: SILENT })

export type Cleaner = AsyncDisposable & {
  readonly store: Store
  readonly events: { readonly 'clean-up': Events['clean-up'][]; readonly 'messages-lost': Events['messages-lost'][] }
  readonly instrumentation: Instrumentation
  /** Runs the job once. */
  runOnce(): Promise<Record<string, number>>
  /** Runs it until it has come to everything that it could come to: on PostgreSQL other transactions may have to end. */
  run(): Promise<{ removed: number; lost: number }>
  topic(name: string): Promise<TopicRecord>
  /** As if so much time had passed since the topic's messages were published. */
  age(name: string, ms: number): Promise<void>
  /** The payloads of the messages that are there, in the order of their ids. */
  kept(name: string): Promise<unknown[]>
  lost(name: string, group: string): Promise<number>
}

export async function cleanerOf(database: TestDatabase, batchSize = 10_000): Promise<Cleaner> {
  const store = await openStore(database.url)
  const instrumentation = new Instrumentation(SILENT)
  const events = { 'clean-up': [] as Events['clean-up'][], 'messages-lost': [] as Events['messages-lost'][] }
  instrumentation.on('clean-up', event => events['clean-up'].push(event))
  instrumentation.on('messages-lost', event => events['messages-lost'].push(event))
  const job = new MessageCleanUp(store, instrumentation, { everyMs: 300_000, batchSize })
  const context: JobContext = { renew: async () => {}, signal: new AbortController().signal }
  const topic = async (name: string): Promise<TopicRecord> => {
    const record = await store.topics.find(name)
    if (record === undefined) throw new Error(`There is no topic ${name}`)
    return record
  }
  const runOnce = async (): Promise<Record<string, number>> => {
    const result = await job.run(context)
    if (result.failed !== 0) throw new Error('The clean-up failed')
    return result
  }
  return {
    store,
    events,
    instrumentation,
    runOnce,
    topic,
    async run() {
      const total = { removed: 0, lost: 0 }
      await until(
        async () => {
          const { removed = 0, lost = 0 } = await runOnce()
          total.removed += removed
          total.lost += lost
          return removed === 0 && !(await isUnfinished(database))
        },
        { what: 'the clean-up to come to its end' },
      )
      return total
    },
    async age(name, ms) {
      const { id } = await topic(name)
      await database.execute({
        sqlite: `update tidemark_log_${id} set created_at = created_at - ${ms}`,
        postgres: `update tidemark.log_${id} set created_at = created_at - ${ms} * interval '1 millisecond'`,
      })
      await database.execute({
        sqlite: 'select 1',
        postgres: `update tidemark.partition set newest = newest - ${ms} * interval '1 millisecond' where topic_id = ${id}`,
      })
    },
    async kept(name) {
      const { id } = await topic(name)
      const rows = await database.execute({
        sqlite: `select payload from tidemark_log_${id} order by id`,
        postgres: `select convert_from(payload, 'UTF8') as payload from tidemark.log_${id} order by id`,
      })
      return rows.map(({ payload }) => JSON.parse(String(payload)))
    },
    async lost(name, group) {
      const { id } = await topic(name)
      const [row] = await database.execute({
        sqlite: `select lost from tidemark_subscription where topic_id = ${id} and group_name = '${group}'`,
        postgres: `select lost from tidemark.subscription where topic_id = ${id} and group_name = '${group}'`,
      })
      return Number(row?.lost)
    },
    [Symbol.asyncDispose]: () => store.close(),
  }
}

async function isUnfinished(database: TestDatabase): Promise<boolean> {
  const [row] = await database.execute({
    sqlite: 'select 0 as waiting',
    postgres:
      'select count(*) as waiting from tidemark.partition where sealed_at is null or dropping_since is not null',
  })
  return Number(row?.waiting) > 0
}

/** A test with a database, the clean-up and a `Tidemark`. */
export function scenario(
  store: TestStore,
  name: string,
  body: (database: TestDatabase, cleaner: Cleaner, tm: Tidemark) => Promise<void>,
): void {
  it(name, async () => {
    await using database = await store.fresh()
    await using cleaner = await cleanerOf(database)
    await body(database, cleaner, await database.open())
  })
}

export async function setStatus(database: TestDatabase, group: string, status: string): Promise<void> {
  await database.execute({
    sqlite: `update tidemark_subscription set status = '${status}' where group_name = '${group}'`,
    postgres: `update tidemark.subscription set status = '${status}' where group_name = '${group}'`,
  })
}
