import { Options } from '../options/options.ts'
import type { Runtime } from '../runtime.ts'
import type { GroupMarks } from '../stores/lanes.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { withKnownTopic } from './find-records.ts'
import { type GroupHealth, groupsHealth } from './group-health.ts'

/** Options of `lanes`. */
export type LanesOptions = {
  /** First id (default: that of the oldest retained message). */
  from?: number
  /** Last id (default: that of the newest message). */
  to?: number
  /** Number of parts into which the log is divided, 0 to 1000 (default 200). */
  buckets?: number
}

/** A part of a log, and the positions of the groups in it. */
export type Lanes = {
  /** Time of these figures, by the database's clock. */
  readonly takenAt: Date
  /** Id of the oldest retained message; null if none is retained. */
  readonly first: number | null
  /** Id of the newest message; null before the first. */
  readonly last: number | null
  /** Parts of the log, by position. */
  readonly buckets: readonly LaneBucket[]
  /** Groups by name. */
  readonly groups: readonly GroupLane[]
}

/** A part of the log. */
export type LaneBucket = {
  /** First id of the part. */
  readonly position: number
  /** Time of its first message; null if it has none. */
  readonly at: Date | null
  /** Number of messages; on PostgreSQL computed from ids. */
  readonly count: number
}

/** A group and its position in the log. The lists are limited; the figures of the group count everything. */
export type GroupLane = Pick<
  GroupHealth,
  'group' | 'status' | 'healthy' | 'cursor' | 'watermark' | 'lagMessages' | 'lagMs' | 'inFlight'
> & {
  /** Number of messages that wait for redelivery. */
  readonly retryCount: number
  /** Number of dead letters. */
  readonly deadLetterCount: number
  /** Claims, oldest first. */
  readonly leases: readonly LaneLease[]
  /** Messages that wait for redelivery, by id. */
  readonly retries: readonly LaneRetry[]
  /** Ids of the messages of the newest dead letters. */
  readonly deadLetters: readonly number[]
}

/** A claim in a lane. */
export type LaneLease = {
  /** Lowest id of its messages. */
  readonly from: number
  /** Highest id of its messages. */
  readonly to: number
  /** Consumer that holds it. */
  readonly consumer: string
  /** Expiry; null if it never expires. */
  readonly until: Date | null
  /** Number of the attempt, starting at 1. */
  readonly attempt: number
}

/** A message in a lane that waits for redelivery. */
export type LaneRetry = {
  /** Id of the message. */
  readonly id: number
  /** Time of the redelivery. */
  readonly due: Date
  /** Number of the next attempt. */
  readonly attempt: number
}

/** Marks of all groups together, so that the answer stays small with many groups. */
const MOST_MARKS = 4_000
const MOST_PER_GROUP = 100

export async function lanes(runtime: Runtime, name: string, given?: LanesOptions): Promise<Lanes> {
  const options = new Options('lanes', given)
  const ids = { min: 0, max: Number.MAX_SAFE_INTEGER }
  const from = options.integer('from', undefined, ids)
  const to = options.integer('to', undefined, ids)
  const buckets = options.integer('buckets', 200, { min: 0, max: 1_000 })
  options.done()
  const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
  return await withKnownTopic(runtime, name, topic => readLanes(runtime, topic, { ...range, buckets }))
}

async function readLanes(
  runtime: Runtime,
  known: TopicRecord,
  query: { readonly from?: number; readonly to?: number; readonly buckets: number },
): Promise<Lanes> {
  const { now, configVersion, firstId, lastId, buckets, groups } = await runtime.store.inspection.lanes(known, {
    ...query,
    most: MOST_PER_GROUP,
  })
  const topic = await runtime.topics.upToDate(known, configVersion)
  const most = Math.max(1, Math.min(MOST_PER_GROUP, Math.floor(MOST_MARKS / Math.max(1, groups.length))))
  const health = groupsHealth(runtime.vitals, topic, { groups, now })
  return {
    takenAt: new Date(now),
    first: firstId,
    last: lastId === 0 ? null : lastId,
    buckets: buckets.map(({ position, at, count }) => ({ position, at: at === null ? null : new Date(at), count })),
    groups: health.map((group, index) => toLane(group, groups[index] ?? NO_MARKS, most)),
  }
}

const NO_MARKS: GroupMarks = { leases: [], waitingRetries: [], deadIds: [] }

function toLane(group: GroupHealth, { leases, waitingRetries, deadIds }: GroupMarks, most: number): GroupLane {
  const { status, healthy, cursor, watermark, lagMessages, lagMs, inFlight, retries, deadLetters } = group
  return {
    ...{ group: group.group, status, healthy, cursor, watermark, lagMessages, lagMs, inFlight },
    retryCount: retries,
    deadLetterCount: deadLetters,
    leases: leases
      .slice(0, most)
      .map(({ until, ...lease }) => ({ ...lease, until: until === null ? null : new Date(until) })),
    retries: waitingRetries.slice(0, most).map(({ due, ...retry }) => ({ ...retry, due: new Date(due) })),
    deadLetters: deadIds.slice(0, most),
  }
}
