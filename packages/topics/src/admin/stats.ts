import type { Vitals } from '../consume/vitals.ts'
import type { Duration } from '../options/duration.ts'
import { Options } from '../options/options.ts'
import type { Runtime } from '../runtime.ts'
import type { StatsRecord, TopicStatsRecord, TopicStorage } from '../stores/inspection.ts'
import type { JobRecord } from '../stores/jobs.ts'
import type { TopicConfig } from '../topic-config.ts'
import { type GroupHealth, groupsHealth } from './group-health.ts'

/** Options of `stats`. */
export type StatsOptions = {
  /** Maximum age of a cached result (default 15 s); 0 reads now. */
  maxAge?: Duration
  /**
   * Maximum age of `removable`, `bytes` and `oldestAt`, which require reading from every log (default: that of the
   * other figures).
   */
  storageMaxAge?: Duration
}

/** All topics, groups and jobs, from one statement. */
export type Stats = {
  /** Time of these figures, by the database's clock. */
  readonly takenAt: Date
  /** Figures by topic. */
  readonly topics: { readonly [topic: string]: TopicStats }
  /** Figures by job. */
  readonly jobs: { readonly [job: string]: JobStats }
}

/** Figures of a topic. */
export type TopicStats = {
  /** Configuration of the topic. */
  readonly config: TopicConfig
  /** Number of published messages; on PostgreSQL the number of assigned ids. */
  readonly messagesPublished: number
  /** Id of the oldest retained message; on PostgreSQL the lowest it can have. Null if none is retained. */
  readonly firstId: number | null
  /** Id of the newest message; 0 before the first. */
  readonly lastId: number
  /** Number of retained messages; on PostgreSQL an estimate from ids. */
  readonly retained: number
  /** Number of messages that can be removed. */
  readonly removable: number
  /** Bytes on the disk: on SQLite an estimate from a few messages. */
  readonly bytes: number
  /** Time of the oldest retained message, or null. */
  readonly oldestAt: Date | null
  /** Groups as in `groups()`. Retries and dead letters are counted up to 10 000 per group. */
  readonly groups: { readonly [group: string]: GroupHealth }
}

/** Figures of a maintenance job. */
export type JobStats = {
  /** Whether it is running now. */
  readonly running: boolean
  /** Number of runs. */
  readonly runs: number
  /** Start of the last run, or null. */
  readonly startedAt: Date | null
  /** End of the last run, or null. */
  readonly finishedAt: Date | null
  /** End of the last run without an error, or null. */
  readonly succeededAt: Date | null
  /** Duration of the last run in milliseconds. */
  readonly tookMs: number | null
}

const DEFAULT_AGE_MS = 15_000
/** Retries and dead letters counted per group: with more, the exact number hardly matters. */
export const MOST_COUNTED = 10_000

/** Keeps the last result, and shares the next read among all callers that wait for it. Reads nothing unless asked. */
export class StatsReader {
  readonly #runtime: Runtime
  #latest: { readonly stats: Stats; readonly readAt: number } | undefined
  #storage: { readonly byTopic: ReadonlyMap<string, TopicStorage>; readonly readAt: number } | undefined
  #reading: Promise<Stats> | undefined

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  async read(given?: StatsOptions): Promise<Stats> {
    const options = new Options('stats', given)
    const maxAgeMs = options.duration('maxAge', DEFAULT_AGE_MS)
    const storageMaxAgeMs = options.duration('storageMaxAge', maxAgeMs)
    options.done()
    this.#runtime.assertOpen()
    const isFresh = (of: { readonly readAt: number } | undefined, ageMs: number): boolean =>
      of !== undefined && performance.now() - of.readAt < ageMs
    const withStorage = !isFresh(this.#storage, storageMaxAgeMs)
    if (this.#latest !== undefined && isFresh(this.#latest, maxAgeMs) && !withStorage) return this.#latest.stats
    this.#reading ??= this.#refresh(withStorage).finally(() => {
      this.#reading = undefined
    })
    return await this.#reading
  }

  async #refresh(withStorage: boolean): Promise<Stats> {
    const readAt = performance.now()
    const record = await this.#runtime.store.inspection.stats(MOST_COUNTED, withStorage)
    const isNew = ({ topic }: TopicStatsRecord): boolean => this.#storage?.byTopic.has(topic) !== true
    // A topic is new since then: read again, including storage figures.
    return !withStorage && record.topics.some(isNew) ? await this.#refresh(true) : this.keep(record, readAt)
  }

  /** Keeps what was read at this time: what follows may be answered from it. */
  keep(record: StatsRecord, readAt: number): Stats {
    const existing = new Map(
      record.topics.map(({ topic, groups }) => [topic, new Set(groups.map(({ group }) => group))]),
    )
    const storage = storageOf(record)
    if (record.topics.every(({ storage }) => storage !== null)) this.#storage = { byTopic: storage, readAt }
    // Notices what other processes have deleted.
    this.#runtime.instrumentation.metrics.keepOnly(existing, readAt)
    const stats = toStats(record, this.#storage?.byTopic ?? storage, this.#runtime.vitals)
    this.#latest = { stats, readAt }
    return stats
  }
}

const storageOf = ({ topics }: StatsRecord): ReadonlyMap<string, TopicStorage> =>
  new Map(topics.flatMap(({ topic, storage }) => (storage === null ? [] : [[topic, storage] as const])))

function toStats(
  { now, topics, jobs }: StatsRecord,
  storage: ReadonlyMap<string, TopicStorage>,
  vitals: Vitals,
): Stats {
  return {
    takenAt: new Date(now),
    topics: Object.fromEntries(
      topics.map(each => [each.topic, toTopicStats(each, now, storage.get(each.topic), vitals)]),
    ),
    jobs: Object.fromEntries(jobs.map(job => [job.name, toJobStats(job)])),
  }
}

function toTopicStats(
  { topic, config, messagesPublished, firstId, lastId, retained, groups }: TopicStatsRecord,
  now: number,
  { removable, bytes, oldestAt } = NO_STORAGE,
  vitals: Vitals,
): TopicStats {
  const described = groupsHealth(vitals, { name: topic, config }, { groups, now })
  return {
    ...{ config, messagesPublished, firstId, lastId, retained, removable, bytes },
    oldestAt: retained === 0 ? null : toDate(oldestAt),
    groups: Object.fromEntries(described.map(each => [each.group, each])),
  }
}

const NO_STORAGE: TopicStorage = { removable: 0, bytes: 0, oldestAt: null }

const toJobStats = ({ running, runs, startedAt, finishedAt, succeededAt, tookMs }: JobRecord): JobStats => ({
  running,
  runs,
  startedAt: toDate(startedAt),
  finishedAt: toDate(finishedAt),
  succeededAt: toDate(succeededAt),
  tookMs,
})

const toDate = (time: number | null): Date | null => (time === null ? null : new Date(time))
