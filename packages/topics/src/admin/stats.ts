import type { Engine } from '../consume/engine.ts'
import type { Vitals } from '../consume/vitals.ts'
import type { Duration } from '../duration.ts'
import { Options } from '../options.ts'
import type { StatsRecord } from '../stores/inspection.ts'
import type { JobRecord } from '../stores/jobs.ts'
import { type GroupHealth, groupsHealth } from './group-health.ts'

export type StatsOptions = {
  /** Age up to which what was read before is good enough (default 15 s). 0: read now. */
  maxAge?: Duration
}

/** What the database knows of all topics, groups and jobs, from one look at it. */
export type Stats = {
  /** By the database's clock. */
  readonly takenAt: Date
  readonly topics: { readonly [topic: string]: TopicStats }
  readonly jobs: { readonly [job: string]: JobStats }
}

export type TopicStats = {
  readonly messagesPublished: number
  /** Messages that could be removed already. */
  readonly removable: number
  /** As `groups()` tells them; retries and dead letters are counted up to 10 000 a group. */
  readonly groups: { readonly [group: string]: GroupHealth }
}

export type JobStats = {
  readonly running: boolean
  readonly runs: number
  readonly startedAt: Date | null
  /** When its last run ended, and when one last ended without an error, of its own or of one of the topics. */
  readonly finishedAt: Date | null
  readonly succeededAt: Date | null
  /** How long its last run took. */
  readonly tookMs: number | null
}

const DEFAULT_AGE_MS = 15_000
/** Retries and dead letters counted for a group: whoever has more has other worries than how many. */
const MOST = 10_000

/** Keeps the last look, and lets all who ask meanwhile share the next one. Nobody asks, nothing is read. */
export class StatsReader {
  readonly #engine: Engine
  #latest: { readonly stats: Stats; readonly readAt: number } | undefined
  #reading: Promise<Stats> | undefined

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async read(given?: StatsOptions): Promise<Stats> {
    const options = new Options('stats', given)
    const maxAgeMs = options.duration('maxAge', DEFAULT_AGE_MS)
    options.done()
    this.#engine.assertOpen()
    if (this.#latest !== undefined && performance.now() - this.#latest.readAt < maxAgeMs) return this.#latest.stats
    this.#reading ??= this.#refresh().finally(() => {
      this.#reading = undefined
    })
    return await this.#reading
  }

  async #refresh(): Promise<Stats> {
    const readAt = performance.now()
    const record = await this.#engine.store.inspection.stats(MOST)
    const existing = new Map(
      record.topics.map(({ topic, groups }) => [topic, new Set(groups.map(({ group }) => group))]),
    )
    // What other processes have deleted is noticed here.
    this.#engine.instrumentation.metrics.keepOnly(existing, readAt)
    const stats = toStats(record, this.#engine.vitals)
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
