import type { Vitals } from '../consume/vitals.ts'
import type { Duration } from '../options/duration.ts'
import { Options } from '../options/options.ts'
import type { Runtime } from '../runtime.ts'
import type { StatsRecord } from '../stores/inspection.ts'
import type { JobRecord } from '../stores/jobs.ts'
import { type GroupHealth, groupsHealth } from './group-health.ts'

/** Options of `stats`. */
export type StatsOptions = {
  /** Maximum age of a cached result (default 15 s); 0 reads now. */
  maxAge?: Duration
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
  /** Number of published messages; on PostgreSQL the number of assigned ids. */
  readonly messagesPublished: number
  /** Number of messages that can be removed. */
  readonly removable: number
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
/** Retries and dead letters counted for a group: whoever has more has other worries than how many. */
const MOST = 10_000

/** Keeps the last look, and lets all who ask meanwhile share the next one. Nobody asks, nothing is read. */
export class StatsReader {
  readonly #runtime: Runtime
  #latest: { readonly stats: Stats; readonly readAt: number } | undefined
  #reading: Promise<Stats> | undefined

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  async read(given?: StatsOptions): Promise<Stats> {
    const options = new Options('stats', given)
    const maxAgeMs = options.duration('maxAge', DEFAULT_AGE_MS)
    options.done()
    this.#runtime.assertOpen()
    if (this.#latest !== undefined && performance.now() - this.#latest.readAt < maxAgeMs) return this.#latest.stats
    this.#reading ??= this.#refresh().finally(() => {
      this.#reading = undefined
    })
    return await this.#reading
  }

  async #refresh(): Promise<Stats> {
    const readAt = performance.now()
    const record = await this.#runtime.store.inspection.stats(MOST)
    const existing = new Map(
      record.topics.map(({ topic, groups }) => [topic, new Set(groups.map(({ group }) => group))]),
    )
    // What other processes have deleted is noticed here.
    this.#runtime.instrumentation.metrics.keepOnly(existing, readAt)
    const stats = toStats(record, this.#runtime.vitals)
    this.#latest = { stats, readAt }
    return stats
  }
}

function toStats({ now, topics, jobs }: StatsRecord, vitals: Vitals): Stats {
  return {
    takenAt: new Date(now),
    topics: Object.fromEntries(
      topics.map(({ topic, semantics, messagesPublished, removable, groups }) => [
        topic,
        {
          messagesPublished,
          removable,
          groups: Object.fromEntries(
            groupsHealth(vitals, { name: topic, config: { semantics } }, { groups, now }).map(each => [
              each.group,
              each,
            ]),
          ),
        },
      ]),
    ),
    jobs: Object.fromEntries(jobs.map(job => [job.name, toJobStats(job)])),
  }
}

const toJobStats = ({ running, runs, startedAt, finishedAt, succeededAt, tookMs }: JobRecord): JobStats => ({
  running,
  runs,
  startedAt: toDate(startedAt),
  finishedAt: toDate(finishedAt),
  succeededAt: toDate(succeededAt),
  tookMs,
})

const toDate = (time: number | null): Date | null => (time === null ? null : new Date(time))
