/** Helpers that run the clean-up on demand, and age what is stored. */

import type { Events, Tidemark, TopicOptions } from '../index.ts'
import type { JobContext } from '../maintenance/job.ts'
import { MessageCleanUp } from '../maintenance/message-clean-up.ts'
import { Instrumentation } from '../observe/instrumentation.ts'
import type { BrowsePage } from '../stores/log.ts'
import type { Store } from '../stores/store.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import type { ConformanceDatabase, ConformanceStore } from './conformance-store.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { SILENT } from './test-database.ts'
import { until } from './until.ts'

export const HOUR = 3_600_000
export const DAY = 24 * HOUR

export const KEPT_A_DAY: TopicOptions = {
  semantics: 'pub-sub',
  retention: '24h',
  maxRetention: '30d',
  partitionRows: 20,
}

export type Cleaner = AsyncDisposable & {
  readonly store: Store
  readonly events: { readonly 'clean-up': Events['clean-up'][]; readonly 'messages-lost': Events['messages-lost'][] }
  readonly instrumentation: Instrumentation
  /** Runs the job once. */
  runOnce(): Promise<Record<string, number>>
  /** Runs it until nothing more can be done: on PostgreSQL other transactions may have to end first. */
  run(): Promise<{ removed: number; lost: number }>
  topic(name: string): Promise<TopicRecord>
  /** As if this much time had passed since the topic's messages were published. */
  age(name: string, ms: number): Promise<void>
  /** The payloads of the retained messages, in id order. */
  kept(name: string): Promise<unknown[]>
  lost(name: string, group: string): Promise<number>
}

export async function cleanerOf(database: ConformanceDatabase, batchSize = 10_000): Promise<Cleaner> {
  const store = await openStore(database, { rowCacheBytes: 0 })
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
          return removed === 0 && !(await database.cleanUpWaits())
        },
        { what: 'the clean-up to come to its end' },
      )
      return total
    },
    age: (name, ms) => database.ageMessages(name, ms),
    async kept(name) {
      const record = await topic(name)
      const payloads: unknown[] = []
      for (let after: number | null = 0; after !== null; ) {
        const page: BrowsePage = await store.log.browse(record, { after, newestFirst: false, limit: 1_000 })
        payloads.push(...page.messages.map(({ payload }) => JSON.parse(String(payload))))
        after = page.next
      }
      return payloads
    },
    async lost(name, group) {
      const { groups } = await store.inspection.describe(await topic(name))
      return Number(groups.find(each => each.group === group)?.lost)
    },
    [Symbol.asyncDispose]: () => store.close(),
  }
}

/** A test with a database, the clean-up and a `Tidemark`. */
export function scenario(
  store: ConformanceStore,
  name: string,
  body: (database: ConformanceDatabase, cleaner: Cleaner, tm: Tidemark) => Promise<void>,
): void {
  it(name, async () => {
    await using database = await store.fresh()
    await using cleaner = await cleanerOf(database)
    await body(database, cleaner, await database.open())
  })
}
