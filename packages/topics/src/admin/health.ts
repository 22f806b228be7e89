import type { GroupVitals } from '../consume/vitals.ts'
import { describeFailure } from '../errors/failure.ts'
import { DatabaseLockedError, DatabaseTimeoutError, DatabaseUnreachableError } from '../errors.ts'
import type { Duration } from '../options/duration.ts'
import { Options } from '../options/options.ts'
import type { Runtime } from '../runtime.ts'
import type { FailureRecord } from '../stores/failure-record.ts'
import type {
  HorizonHolder,
  StatsRecord,
  TopicFacts,
  TopicStatsRecord,
  UnsubscribedTopic,
} from '../stores/inspection.ts'
import type { JobRecord } from '../stores/jobs.ts'
import { withTimeout } from '../with-timeout.ts'
import { type GroupHealth, groupsHealth } from './group-health.ts'
import { MOST_COUNTED } from './stats.ts'

/** Thresholds of `health`. */
export type HealthOptions = {
  /** Share of the heartbeat timeout from which a silent group is reported (default 0.8). */
  nearTimeout?: number
  /** Age from which a waiting message is reported as stuck (default 1 h). */
  stuckAfter?: Duration
  /** Number of removable messages above which the clean-up is behind (default 1 000 000). */
  removable?: number
  /** Expected interval of the job `messages`. After three intervals without a run the clean-up is behind. */
  cleanUpEvery?: Duration
  /** Age from which an open transaction is reported (default 5 min). */
  openTransaction?: Duration
}

/** Everything that needs attention. Cheap: it reads positions, jobs and a few rows of each log. */
export type Health = {
  /** Whether nothing below needs attention. */
  readonly healthy: boolean
  /** Time of the check. */
  readonly checkedAt: Date
  /** Groups about to be marked as missing. */
  readonly nearTimeout: readonly GroupHealth[]
  /** Dead groups. */
  readonly dead: readonly GroupHealth[]
  /** Groups with lost messages that are not acknowledged (`acknowledgeLoss`). */
  readonly lost: readonly GroupHealth[]
  /** Groups with messages that have waited for too long. */
  readonly stuck: readonly { readonly topic: string; readonly since: Date; readonly ageMs: number }[]
  /** Violated invariants. Report them as a bug. */
  readonly inconsistencies: readonly { readonly topic: string; readonly what: string }[]
  /** State of the clean-up. */
  readonly cleanUp: {
    readonly behind: boolean
    readonly lastRunAt: Date | null
    readonly overdue: boolean
    readonly removable: readonly { readonly topic: string; readonly messages: number }[]
  }
  /** SQLite only: clock of this process compared with the file's; null on PostgreSQL, which has its own clock. */
  readonly clock: {
    /** Whether they are close enough. Otherwise one of the two is wrong, and this process removes nothing by age. */
    readonly ok: boolean
    /** Milliseconds by which this process's clock is ahead; negative if it is behind. */
    readonly offsetMs: number
  } | null
  /**
   * PostgreSQL: topics that will soon have no partition for new messages, and how many messages still fit. Without a
   * partition, publishing fails. Publishers and maintenance whose user owns the tables create partitions, and so does
   * 'tidemark migrate'.
   */
  readonly partitions: readonly { readonly topic: string; readonly room: number }[]
  /** PostgreSQL only: open transactions that hold back watermarks and clean-up. */
  readonly horizonHolders: readonly HorizonHolder[]
  /** Groups with waiting messages that have made no progress for the `zombieTtl` of their topic. */
  readonly zombies: readonly {
    readonly topic: string
    readonly group: string
    readonly movedAt: Date
    readonly waiting: number
  }[]
  /** Topics without subscription. */
  readonly unsubscribed: readonly UnsubscribedTopic[]
  /** Maintenance jobs. */
  readonly jobs: readonly JobRecord[]
  /** Whether the database answers. If not, the other lists are empty because their content is unknown. */
  readonly database: {
    readonly reachable: boolean
    /** Since when it does not answer. */
    readonly unreachableSince: Date | null
    readonly error: FailureRecord | null
  }
  /** Groups of this process that are unable to claim, and since when. */
  readonly failing: readonly GroupVitals[]
}

type Limits = {
  readonly nearTimeout: number
  readonly stuckMs: number
  readonly removable: number
  readonly overdueMs: number
  readonly transactionMs: number
}
type Examined = {
  readonly topic: TopicStatsRecord
  readonly facts: TopicFacts
  readonly groups: readonly GroupHealth[]
  readonly now: number
}
/** Called with the statistics that were read, and when. */
type KeepStats = (record: StatsRecord, readAt: number) => void

/** A database that takes longer to answer counts as unreachable. */
const ANSWER_MS = 4_000
/** Checks that timed out and are still running: an unreachable database is not queried twice at once. */
const unanswered = new WeakMap<Runtime, { readonly over: Promise<void>; readonly askedAt: Date }>()

/** Answers within seconds, whatever the database does. */
export async function health(runtime: Runtime, given: HealthOptions | undefined, keep: KeepStats): Promise<Health> {
  runtime.assertOpen()
  const limits = parseLimits(given)
  const askedAt = new Date()
  const until = performance.now() + ANSWER_MS
  try {
    const isFree = await inTime(
      (unanswered.get(runtime)?.over ?? Promise.resolve()).then(() => true),
      until,
    )
    const looking = isFree && examineAll(runtime, limits, keep)
    const found = looking && (await inTime(looking, until))
    if (found) return found
    if (looking) giveUp(runtime, looking, askedAt)
    return away(runtime, askedAt, `No answer within ${ANSWER_MS} ms`)
  } catch (error) {
    if (!AWAY.some(each => error instanceof each)) throw error
    return away(runtime, askedAt, describeFailure(error).message)
  }
}

const AWAY = [DatabaseUnreachableError, DatabaseTimeoutError, DatabaseLockedError]

/** undefined if it takes too long. */
async function inTime<T>(looking: Promise<T>, until: number): Promise<T | undefined> {
  // Nobody may be listening when it ends.
  looking.catch(() => undefined)
  let found: T | undefined
  await withTimeout(
    looking.then(each => {
      found = each
    }),
    until - performance.now(),
  )
  return found
}

function giveUp(runtime: Runtime, looking: Promise<unknown>, askedAt: Date): void {
  const over = looking.then(
    () => undefined,
    () => undefined,
  )
  unanswered.set(runtime, { over, askedAt })
  void over.then(() => unanswered.delete(runtime))
}

function away(runtime: Runtime, askedAt: Date, message: string): Health {
  const outage = runtime.instrumentation.outages.open.find(({ kind }) => kind === 'connection')
  const times = [outage?.since, unanswered.get(runtime)?.askedAt, askedAt]
  const unreachableSince = new Date(Math.min(...times.flatMap(time => (time ? [time.getTime()] : []))))
  return {
    healthy: false,
    checkedAt: new Date(),
    ...{
      nearTimeout: [],
      dead: [],
      lost: [],
      stuck: [],
      inconsistencies: [],
      partitions: [],
      horizonHolders: [],
      zombies: [],
      unsubscribed: [],
    },
    cleanUp: { behind: false, lastRunAt: null, overdue: false, removable: [] },
    jobs: [],
    clock: null,
    database: { reachable: false, unreachableSince, error: outage?.error ?? { name: 'SilenceError', message } },
    failing: runtime.vitals.failing(),
  }
}

async function examineAll(runtime: Runtime, limits: Limits, keep: KeepStats): Promise<Health> {
  const readAt = performance.now()
  const [{ stats, facts, zombies, unsubscribed, horizonHolders }, clock] = await Promise.all([
    runtime.store.inspection.examine(MOST_COUNTED),
    runtime.clock.look(),
  ])
  keep(stats, readAt)
  const { now, jobs } = stats
  const factsOf = new Map(facts.map(each => [each.topic, each]))
  const topics = stats.topics.flatMap((topic): Examined[] => {
    const found = factsOf.get(topic.topic)
    if (found === undefined) return []
    const groups = groupsHealth(
      runtime.vitals,
      { name: topic.topic, config: topic.config },
      { ...topic, now },
      limits.nearTimeout,
    )
    return [{ topic, facts: found, groups, now }]
  })
  const groups = topics.flatMap(each => each.groups)
  const found = {
    nearTimeout: groups.filter(each => each.nearTimeout),
    dead: groups.filter(each => each.status === 'DEAD'),
    lost: groups.filter(each => each.unacknowledgedLoss > 0 && each.status !== 'CANCELLED'),
    stuck: topics.flatMap(each => stuckIn(each, limits)),
    inconsistencies: facts.flatMap(({ topic, inconsistencies }) => inconsistencies.map(what => ({ topic, what }))),
    cleanUp: cleanUpOf(topics, jobs, now, limits),
    partitions: facts.flatMap(shortOf),
    horizonHolders: horizonHolders.filter(({ ageMs }) => ageMs >= limits.transactionMs),
    zombies: zombies.map(({ movedAt, ...zombie }) => ({ ...zombie, movedAt: new Date(movedAt) })),
    unsubscribed,
    clock: clock && { ok: !clock.isOff, offsetMs: clock.offsetMs },
    failing: runtime.vitals.failing(),
  }
  const { cleanUp, clock: _, ...lists } = found
  const healthy = !cleanUp.behind && !clock?.isOff && Object.values(lists).every(list => list.length === 0)
  const database = { reachable: true, unreachableSince: null, error: null }
  return { healthy, checkedAt: new Date(now), ...found, jobs, database }
}

export function parseLimits(given: unknown): Limits {
  const options = new Options('health', given)
  const limits = {
    nearTimeout: options.number('nearTimeout', 0.8, { min: 0, max: 1 }),
    stuckMs: options.duration('stuckAfter', 3_600_000),
    removable: options.integer('removable', 1_000_000, { min: 0, max: Number.MAX_SAFE_INTEGER }),
    overdueMs: 3 * options.duration('cleanUpEvery', 300_000),
    transactionMs: options.duration('openTransaction', 300_000),
  }
  options.done()
  return limits
}

/** The oldest message that a live group waits for, holds or retries. */
function stuckIn({ topic, facts, groups, now }: Examined, { stuckMs }: Limits): Health['stuck'] {
  const waiting = groups
    .filter(({ status }) => status === 'ACTIVE' || status === 'PAUSED')
    .map(({ lagMs }) => now - lagMs)
  const since = Math.min(facts.heldAt ?? now, ...waiting)
  if (now - since <= stuckMs) return []
  return [{ topic: topic.topic, since: new Date(since), ageMs: now - since }]
}

/** Publishers create the next partition before half of one is left. */
function shortOf({ topic, partitions }: TopicFacts): Health['partitions'] {
  return partitions === null || partitions.room >= partitions.rows / 2 ? [] : [{ topic, room: partitions.room }]
}

function cleanUpOf(
  topics: readonly Examined[],
  jobs: readonly JobRecord[],
  now: number,
  limits: Limits,
): Health['cleanUp'] {
  const job = jobs.find(({ name }) => name === 'messages')
  const lastRunAt = job?.startedAt ?? null
  // A run that always fails cleans up nothing. If none ever succeeded, one should have since there was something to do.
  const doneAt = job?.running ? job.startedAt : job?.succeededAt
  const since = doneAt ?? Math.min(now, ...topics.map(({ facts }) => facts.createdAt))
  // Without topics there is nothing to remove, and no reading of the database's clock.
  const overdue = topics.length > 0 && now - since > limits.overdueMs
  const removable = topics
    .map(({ topic: { topic, storage } }) => ({ topic, messages: storage?.removable ?? 0 }))
    .filter(({ messages }) => messages > limits.removable)
  const behind = overdue || removable.length > 0
  return { behind, overdue, removable, lastRunAt: lastRunAt === null ? null : new Date(lastRunAt) }
}
