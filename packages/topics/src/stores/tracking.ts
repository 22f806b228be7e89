import type { Tracking } from '../topic-config.ts'
import type { TopicRecord } from './topic-record.ts'

/** Reference tracking: bitmaps that record, for each message, which groups must process it and which have. */
export type ReferenceTracking = {
  /** Switches the tracking mode while groups are running. `fill` then fills the bitmaps of retained messages. */
  switch(topic: TopicRecord, tracking: Tracking): Promise<TopicRecord>
  /**
   * Fills one page of bitmaps. Returns false when nothing is left or, on PostgreSQL, older transactions are still
   * open.
   */
  fill(topic: TopicRecord, limit: number): Promise<boolean>
  /**
   * Clears one page of bits of dead, cancelled or removed groups. If a topic has few free bits, ended groups give up
   * theirs.
   */
  clearBits(limit: number): Promise<{ readonly cleared: number; readonly more: boolean }>
  /** Which groups must process each message, and which have. */
  completion(topic: TopicRecord, query: CompletionQuery): Promise<MessageCompletion[]>
  /** Completes messages older than this that wait only for groups that are not live. Returns their number. */
  completeOrphans(topic: TopicRecord, olderThanMs: number): Promise<number>
}

/** Selection of messages. */
export type CompletionQuery = {
  /** Id after which the page begins. */
  readonly after: number
  /** Maximum number of messages. */
  readonly limit: number
  /** Whether only messages that wait for a group are listed. */
  readonly unfinished: boolean
  /** The message with this id only. */
  readonly id?: number
}

/** Completion of a message. */
export type MessageCompletion = {
  /** Id of the message. */
  readonly id: number
  /** Salt of the message. */
  readonly salt: number
  /** Stored messageId, or null if the publisher gave none. */
  readonly messageId: string | null
  /** Groups that must process it. */
  readonly required: readonly string[]
  /** Groups that have processed it. */
  readonly completed: readonly string[]
}
