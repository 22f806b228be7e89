import type { RawMessage } from '../payload/raw-message.ts'
import type { ByteBounds } from './byte-bounds.ts'
import type { TopicRecord } from './topic-record.ts'

/** The messages of a topic: written once, read by groups and people, removed when no group needs them. */
export type Log = {
  /** Stores all messages or none, durably, before it resolves. With `tx`, inside the caller's transaction instead. */
  publish(topic: TopicRecord, messages: readonly OutgoingMessage[], tx?: unknown): Promise<PublishedMessage[]>
  /**
   * The same inside the caller's transaction, stored when it returns. Only a store whose statements are synchronous has it.
   */
  publishSync?(topic: TopicRecord, messages: readonly OutgoingMessage[], tx: unknown): PublishedMessage[]
  /** Makes the small durable write that a publish makes, without a message, to measure the latency of the live path. */
  probe(): Promise<void>
  /** Returns the id of a retained message. */
  find(topic: TopicRecord, messageId: string): Promise<number | undefined>
  /** Reads messages without consuming them. */
  browse(topic: TopicRecord, query: BrowseQuery): Promise<BrowsePage>
  /** New messages after the place of an earlier page, each once, in any commit order; null: from now on. */
  tail(topic: TopicRecord, place: string | null, limit: number, bounds?: ByteBounds): Promise<TailPage>
  /**
   * One short step of removing what the topic no longer needs: a batch of rows, or the next stage of one partition.
   * Repeat it while `more` is true.
   */
  cleanUp(topic: TopicRecord, batchSize: number): Promise<CleanUpStep>
}

/** A message to store. */
export type OutgoingMessage = {
  /** Text: JSON. Bytes: described by `type`. */
  readonly payload: string | Uint8Array
  /** Type of the payload; null: JSON; 'bytes'; or a protobuf type URL. */
  readonly type: string | null
  /** Key of the message, or null. */
  readonly key: string | null
  /** Headers as JSON, or null. */
  readonly headers: string | null
  /** Id given by the caller, stored once within the topic's dedupe window, or null. */
  readonly messageId: string | null
}

/** A stored message. */
export type PublishedMessage = {
  /** Id of the message. */
  readonly id: number
  /** Salt of the publish. */
  readonly salt: number
  /** Whether the caller's messageId had been stored before, under this id. */
  readonly duplicate: boolean
}

/** Selection of messages. */
export type BrowseQuery = {
  /** Messages with a higher id. */
  readonly after?: number
  /** Messages with a lower id. */
  readonly before?: number
  /** Messages published at this time or later. */
  readonly since?: number
  /** Messages published before this time. */
  readonly until?: number
  /** Messages with this key. */
  readonly key?: string
  /** Messages with this type; null: JSON. */
  readonly type?: string | null
  /** Whether the newest message comes first. */
  readonly newestFirst: boolean
  /** Maximum number of messages. */
  readonly limit: number
  /** Ends the search when aborted. */
  readonly signal?: AbortSignal
} & ByteBounds

/** A page of messages. */
export type BrowsePage = {
  /** The messages. */
  readonly messages: readonly RawMessage[]
  /** Id at which the next page continues (`after`, or `before` with `newestFirst`); null: there are no more. */
  readonly next: number | null
  /** Ids that were examined; null: none. */
  readonly examined: { readonly first: number; readonly last: number } | null
}

/** A page of new messages. */
export type TailPage = {
  /** The messages. */
  readonly messages: readonly RawMessage[]
  /** Where the next page continues. */
  readonly place: string
}

/** Result of one clean-up step. */
export type CleanUpStep = {
  /** Number of removed messages. */
  readonly removed: number
  /** Number of dropped partitions. */
  readonly partitionsDropped: number
  /** Messages that live groups lost to `maxRetention`. A dead group's loss is counted when it returns. */
  readonly lost: readonly { readonly group: string; readonly count: number }[]
  /** Whether there is more to remove. */
  readonly more: boolean
}
