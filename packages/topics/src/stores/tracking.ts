import type { Tracking } from '../topic-config.ts'
import type { TopicRecord } from './topic-record.ts'

/** Reference tracking: bitmaps that say for each message which groups have yet to process it and which have. */
export type ReferenceTracking = {
  /** Switches while groups run. `fill` then fills the bitmaps of the messages that are kept. */
  switch(topic: TopicRecord, tracking: Tracking): Promise<TopicRecord>
  /** One page; false when nothing is left to fill, or (on PostgreSQL) older transactions are still to be waited for. */
  fill(topic: TopicRecord, limit: number): Promise<boolean>
  /**
   * One page of clearing the bits of dead and cancelled groups, or of wiping those of removed ones. Where a topic has few
   * bits left, groups that have ended give up theirs.
   */
  clearBits(limit: number): Promise<{ readonly cleared: number; readonly more: boolean }>
  completion(topic: TopicRecord, query: CompletionQuery): Promise<MessageCompletion[]>
  /** Messages older than this that wait only for groups that are not live: they wait no longer. Returns how many. */
  completeOrphans(topic: TopicRecord, olderThanMs: number): Promise<number>
}

export type CompletionQuery = {
  readonly after: number
  readonly limit: number
  readonly unfinished: boolean
  readonly id?: number
}

export type MessageCompletion = {
  readonly id: number
  readonly salt: number
  /** The log's messageId where the caller gave one. */
  readonly messageId: string | null
  readonly required: readonly string[]
  readonly completed: readonly string[]
}
