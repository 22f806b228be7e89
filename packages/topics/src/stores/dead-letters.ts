import type { RawMessage } from '../payload/raw-message.ts'
import type { ByteBounds } from './byte-bounds.ts'
import type { FailedAttempt, FailureRecord } from './failure-record.ts'
import type { TopicRecord } from './topic-record.ts'

/** Messages that ran out of attempts, with payload, error and history. */
export type DeadLetters = {
  list(topic: TopicRecord, query: DeadLetterQuery): Promise<DeadLetter[]>
  find(topic: TopicRecord, id: number, bounds?: ByteBounds): Promise<DeadLetter | undefined>
  /** Back into delivery, with attempts from 0, up to `limit` of those that can be; the others stay as they are. */
  redrive(topic: TopicRecord, selection: DeadLetterSelection): Promise<RedrivenPage>
  /** Counts the matching dead letters that can't be redriven. */
  undeliverable(topic: TopicRecord, selection: DeadLetterSelection): Promise<Undeliverable>
  /** Deletes up to `limit` of them. Returns how many. */
  discard(topic: TopicRecord, selection: DeadLetterSelection): Promise<number>
}

export type DeadLetterQuery = { readonly group?: string; readonly after?: number; readonly limit: number } & ByteBounds

export type DeadLetter = {
  readonly id: number
  readonly group: string
  readonly message: RawMessage
  readonly attempts: number
  readonly error: FailureRecord
  /** Every failed attempt, oldest first. */
  readonly history: readonly FailedAttempt[]
  readonly deadAt: number
}

export type DeadLetterSelection = {
  readonly ids?: readonly number[]
  readonly group?: string
  readonly errorName?: string
  readonly key?: string
  readonly type?: string | null
  readonly since?: number
  readonly until?: number
  /** Those with a higher id. */
  readonly after?: number
  readonly limit: number
}

export type RedrivenPage = {
  readonly redriven: number
  /** Where the next page goes on; null: there is no more. */
  readonly last: number | null
}

/** Result of `redrive`. */
export type Redriven = Undeliverable & {
  /** Number of redriven dead letters. */
  readonly redriven: number
}

export type Undeliverable = {
  /** Number of matching dead letters whose message is no longer in the log. */
  readonly gone: number
  /** Number of matching dead letters whose group is not live. */
  readonly orphaned: number
}
