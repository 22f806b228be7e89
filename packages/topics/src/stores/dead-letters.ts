import type { RawMessage } from '../payload/raw-message.ts'
import type { ByteBounds } from './byte-bounds.ts'
import type { FailedAttempt, FailureRecord } from './failure-record.ts'
import type { TopicRecord } from './topic-record.ts'

/** Messages that ran out of attempts, with payload, error and history. */
export type DeadLetters = {
  /** Lists dead letters by id. */
  list(topic: TopicRecord, query: DeadLetterQuery): Promise<DeadLetter[]>
  /** Lists errors of dead letters by id, of one topic or of all. No payload is returned. */
  errors(query: LetterErrorQuery): Promise<LetterError[]>
  /** Returns one dead letter. */
  find(topic: TopicRecord, id: number, bounds?: ByteBounds): Promise<DeadLetter | undefined>
  /**
   * Makes up to `limit` dead letters available again with a full set of attempts. Those that can't be redriven are
   * kept.
   */
  redrive(topic: TopicRecord, selection: DeadLetterSelection): Promise<RedrivenPage>
  /** Counts the matching dead letters, and those of them that can't be redriven. */
  undeliverable(topic: TopicRecord, selection: DeadLetterSelection): Promise<Undeliverable>
  /** Deletes up to `limit` dead letters and returns their number. */
  discard(topic: TopicRecord, selection: DeadLetterSelection): Promise<number>
}

/** Selection of dead letters to list. */
export type DeadLetterQuery = DeadLetterSelection & ByteBounds

/** Selection of errors to list. */
export type LetterErrorQuery = Omit<DeadLetterSelection, 'after'> & {
  /** Dead letters of this topic only. */
  readonly topic?: TopicRecord
  /** Id after which the page begins; with `newestFirst`, before which it begins. */
  readonly beyond?: number
  /** Whether the newest dead letter comes first. */
  readonly newestFirst: boolean
}

/** Error of a dead letter. */
export type LetterError = {
  /** Id of the dead letter. */
  readonly id: number
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group. */
  readonly group: string
  /** Key of the message, or null. */
  readonly key: string | null
  /** Error of the last attempt. */
  readonly error: FailureRecord
  /** Time at which it was dead-lettered. */
  readonly deadAt: number
}

/** A message that ran out of attempts. */
export type DeadLetter = {
  /** Id of the dead letter. */
  readonly id: number
  /** Name of the group. */
  readonly group: string
  /** The message. */
  readonly message: RawMessage
  /** Number of attempts. */
  readonly attempts: number
  /** Error of the last attempt. */
  readonly error: FailureRecord
  /** Every failed attempt, the oldest first. */
  readonly history: readonly FailedAttempt[]
  /** Time at which it was dead-lettered. */
  readonly deadAt: number
}

/** Selection of dead letters to redrive or discard. */
export type DeadLetterSelection = {
  /** Dead letters with these ids only. */
  readonly ids?: readonly number[]
  /** Dead letters of this group only. */
  readonly group?: string
  /** Dead letters whose last error has this name. */
  readonly errorName?: string
  /** Dead letters whose message has this key. */
  readonly key?: string
  /** Dead letters whose payload has this type; null: JSON. */
  readonly type?: string | null
  /** Dead letters from this time on. */
  readonly since?: number
  /** Dead letters before this time. */
  readonly until?: number
  /** Id after which to begin. */
  readonly after?: number
  /** Maximum number of dead letters. */
  readonly limit: number
}

/** Result of one step of a redrive. */
export type RedrivenPage = {
  /** Number of redriven dead letters. */
  readonly redriven: number
  /** Id at which the next step continues; null: there are no more. */
  readonly last: number | null
}

/** Result of `redrive`. */
export type Redriven = Omit<Undeliverable, 'matching'> & {
  /** Number of redriven dead letters. */
  readonly redriven: number
}

/** Dead letters that can't be redriven. */
export type Undeliverable = {
  /** Number of matching dead letters, those that can be redriven included. */
  readonly matching: number
  /** Number of matching dead letters whose message is no longer in the log. */
  readonly gone: number
  /** Number of matching dead letters whose group is not live. */
  readonly orphaned: number
}
