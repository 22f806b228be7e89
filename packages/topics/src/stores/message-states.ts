import type { SubscriptionStatus } from './subscription-record.ts'

/** Where a message stands in a group. */
export type MessageStateRecord = {
  /** Name of the group; empty for a queue. */
  readonly group: string
  /** Status of the group. */
  readonly status: SubscriptionStatus
  /**
   * `done`: processed. `in-flight`: claimed. `retry`: waits for redelivery. `dead-letter`: given up. `waiting`: not yet
   * claimed. `not-for-group`: from before the group's start position. `settled`: done or given up; the group has more
   * dead letters than are looked through.
   */
  readonly state: 'done' | 'in-flight' | 'retry' | 'dead-letter' | 'waiting' | 'not-for-group' | 'settled'
  /** Consumer that holds it, or null. */
  readonly consumer: string | null
  /** Expiry of the claim, or time of the redelivery, in milliseconds; null if there is none. */
  readonly until: number | null
  /** Number of the attempt under way or to come; null if there is none. */
  readonly attempt: number | null
  /** Id of the dead letter, or null. */
  readonly deadLetter: number | null
}

/** Dead letters of a group that are looked through for a message, the newest first. */
export const MOST_LETTERS_SEEN = 1_000

/** What a group has of a message besides its position. */
export const NOTHING_HELD = { consumer: null, until: null, attempt: null, deadLetter: null } as const
