import type { RawMessage } from 'tidemark/store'
import type { Entry } from '../entry.ts'
import type { TopicDocument } from '../topic-document.ts'
import type { Retry } from './document.ts'

/**
 * What a change reads besides the document. Changes are pure functions: what they ask for and is not at hand yet is
 * thrown as `Missing`, fetched, and the change is applied again to the document as it was.
 */
export type Facts = {
  readonly now: number
  /** Most bytes of one message of the stream. */
  readonly maxBytes: number
  /** The topic, which the commit then depends on. */
  topic(): TopicDocument
  /**
   * Entries that may have messages after this id, at least so many messages if there are as many. With `upTo`, no
   * message up to that id is missing because a replica lags behind.
   */
  entriesAfter(id: number, messages: number, upTo?: number): readonly Entry[]
  /** The log is known to have had this sequence. */
  readonly knownSeq: number
  /** Last sequence of the log, as its leader has it. */
  lastSeq(): number
  /** A message, or undefined if the log no longer has it. */
  message(id: number): RawMessage | undefined
  /** Makes these messages available at once. */
  load(ids: readonly number[]): void
  /** Sequence of the document that the change is applied to. */
  readonly revision: number
  /** Sequence of the topic that was read; the commit depends on it if the change alters the topic. */
  readonly topicSeq: number
  /** Those whose subject still has the message with their sequence. */
  areThere<T extends { readonly subject: string; readonly seq: number }>(all: readonly T[]): T[]
  /** Makes pages of retries available at once. */
  loadPages(pages: readonly number[]): void
  /** Retries that are stored apart. */
  page(page: number): readonly Retry[]
}

export class Missing extends Error {
  readonly fetch: () => Promise<void>

  constructor(fetch: () => Promise<void>) {
    super('a fact is missing')
    this.fetch = fetch
  }
}
