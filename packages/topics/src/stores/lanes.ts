import type { GroupDescription } from './inspection.ts'

/** Which part of a log to draw. */
export type LanesQuery = {
  /** First id; undefined: the oldest that is retained. */
  readonly from?: number
  /** Last id; undefined: the newest. */
  readonly to?: number
  /** Number of parts into which the ids are divided. */
  readonly buckets: number
  /** Maximum number of leases, retries and dead letters per group. */
  readonly most: number
}

/** A log and the positions of its groups. Cheap: one row per bucket, and the groups' own rows. */
export type LanesRecord = {
  /** Current time of the database's clock. */
  readonly now: number
  /** Version of the topic's configuration: a caller that knows an older one reads it again. */
  readonly configVersion: number
  /** Id of the oldest retained message, or null. */
  readonly firstId: number | null
  /** Id of the newest message; 0 before the first. */
  readonly lastId: number
  /** The parts, by position. */
  readonly buckets: readonly LogBucket[]
  /** The groups, by name. */
  readonly groups: readonly (GroupDescription & GroupMarks)[]
}

/** A part of a log. */
export type LogBucket = {
  /** First id of the part. */
  readonly position: number
  /** Time of the first message of the part in milliseconds; null if it has none. */
  readonly at: number | null
  /** Number of messages: exact on SQLite, computed from ids on PostgreSQL. */
  readonly count: number
}

/** What a group holds, retries and has dead-lettered, each up to a maximum number. */
export type GroupMarks = {
  /** Live leases, the oldest first. */
  readonly leases: readonly LeaseMark[]
  /** Messages that wait for redelivery, by id. */
  readonly waitingRetries: readonly RetryMark[]
  /** Ids of the messages of the newest dead letters. */
  readonly deadIds: readonly number[]
}

/** A live lease. */
export type LeaseMark = {
  /** Lowest id of its messages. */
  readonly from: number
  /** Highest id of its messages. */
  readonly to: number
  /** Consumer that holds it. */
  readonly consumer: string
  /** Expiry in milliseconds; null: it never expires. */
  readonly until: number | null
  /** Highest attempt of its messages, starting at 1. */
  readonly attempt: number
}

/** A message that waits for redelivery. */
export type RetryMark = {
  /** Id of the message. */
  readonly id: number
  /** Time of the redelivery in milliseconds. */
  readonly due: number
  /** Number of the next attempt. */
  readonly attempt: number
}

/**
 * Splits the ids from `low` to `high` into at most `buckets` parts of nearly equal size. Returns their first ids.
 *
 * @example
 * positionsOf(1, 100, 4) // [1, 26, 51, 76]
 */
export function positionsOf(low: number, high: number, buckets: number): number[] {
  const size = high - low + 1
  const count = Math.max(0, Math.min(buckets, size))
  return Array.from({ length: count }, (_, n) => low + Math.floor((n * size) / count))
}
