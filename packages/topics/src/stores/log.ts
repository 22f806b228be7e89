import type { RawMessage } from '../payload/raw-message.ts'
import type { ByteBounds } from './byte-bounds.ts'
import type { TopicRecord } from './topic-record.ts'

/** The messages of a topic: written once, read by groups and people, removed when nobody needs them. */
export type Log = {
  /** Stores all or nothing, durably, before it resolves. Given `tx`, inside the caller's transaction instead. */
  publish(topic: TopicRecord, messages: readonly OutgoingMessage[], tx?: unknown): Promise<PublishedMessage[]>
  /** What a publish does, without its message: a small durable write on the live path, to be timed. */
  probe(): Promise<void>
  /** The id of a message that is kept. */
  find(topic: TopicRecord, messageId: string): Promise<number | undefined>
  browse(topic: TopicRecord, query: BrowseQuery): Promise<BrowsePage>
  /** New messages after a place that an earlier page gave, each once, in whatever order they commit; null: from now on. */
  tail(topic: TopicRecord, place: string | null, limit: number, bounds?: ByteBounds): Promise<TailPage>
  /**
   * One short step of removing what the topic no longer needs: a batch of rows, or one partition's next stage. Repeat it
   * while `more`.
   */
  cleanUp(topic: TopicRecord, batchSize: number): Promise<CleanUpStep>
}

export type OutgoingMessage = {
  /** Text: JSON. Bytes: anything else, told apart by `type`. */
  readonly payload: string | Uint8Array
  /** null: JSON; 'bytes'; or a protobuf type URL. */
  readonly type: string | null
  readonly key: string | null
  /** JSON of the headers, null where there are none. */
  readonly headers: string | null
  /** Given by the caller: stored once within the topic's dedupe window. */
  readonly messageId: string | null
}

/** `duplicate`: the caller's messageId was stored before, under this id. */
export type PublishedMessage = { readonly id: number; readonly salt: number; readonly duplicate: boolean }

export type BrowseQuery = {
  readonly after?: number
  readonly before?: number
  readonly since?: number
  readonly until?: number
  readonly key?: string
  /** null: JSON. */
  readonly type?: string | null
  readonly newestFirst: boolean
  readonly limit: number
} & ByteBounds

export type BrowsePage = {
  readonly messages: readonly RawMessage[]
  /** Where the next page goes on (`after`, or `before` where the newest come first); null: there is no more. */
  readonly next: number | null
}

export type TailPage = { readonly messages: readonly RawMessage[]; readonly place: string }

export type CleanUpStep = {
  readonly removed: number
  readonly partitionsDropped: number
  /** Taken from live groups by the forced cap. What a dead one loses it is told when it comes back. */
  readonly lost: readonly { readonly group: string; readonly count: number }[]
  readonly more: boolean
}
