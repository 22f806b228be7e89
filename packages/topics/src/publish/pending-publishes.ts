import { setTimeout as delay } from 'node:timers/promises'
import { MessageIdPendingError } from '../errors.ts'
import type { OutgoingMessage, PublishedMessage } from '../stores/log.ts'
import type { TopicRecord } from '../stores/topic-record.ts'

/** A publish that waits for its answer. */
export type Entry = {
  readonly messages: readonly OutgoingMessage[]
  readonly resolve: (published: PublishedMessage[]) => void
  readonly reject: (error: unknown) => void
}

export type StoreBatch = (topic: TopicRecord, messages: readonly OutgoingMessage[]) => Promise<PublishedMessage[]>

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 500
/** How long a publish waits for a transaction that has published the same messageId. */
const PATIENCE_MS = 30_000

/**
 * Publishes of one topic whose messageId an open transaction has published. Each waits beside the group commit, and
 * retries now and then instead of holding a connection.
 */
export class PendingPublishes {
  readonly #storeBatch: StoreBatch
  /** How many wait for each messageId. */
  readonly #ids = new Map<string, number>()
  readonly #entries = new Map<Entry, Promise<void>>()
  readonly #stopping = new AbortController()

  constructor(storeBatch: StoreBatch) {
    this.#storeBatch = storeBatch
  }

  /** Whether one of its messageIds is already waited for: it would have to wait too. */
  has({ messages }: Entry): boolean {
    if (this.#ids.size === 0) return false
    return messages.some(({ messageId }) => messageId !== null && this.#ids.has(messageId))
  }

  holds(entry: Entry): boolean {
    return this.#entries.has(entry)
  }

  add(topic: TopicRecord, entry: Entry): void {
    for (const id of idsOf(entry)) this.#ids.set(id, (this.#ids.get(id) ?? 0) + 1)
    this.#entries.set(entry, this.#wait(topic, entry))
  }

  /** Each tries one last time. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#entries.values())
  }

  async #wait(topic: TopicRecord, entry: Entry): Promise<void> {
    const until = performance.now() + PATIENCE_MS
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2)) {
      await delay(waitMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
      const isLast = this.#stopping.signal.aborted || performance.now() > until
      try {
        entry.resolve(await this.#storeBatch(topic, entry.messages))
        break
      } catch (error) {
        if (error instanceof MessageIdPendingError && !isLast) continue
        entry.reject(error)
        break
      }
    }
    this.#entries.delete(entry)
    for (const id of idsOf(entry)) {
      const others = (this.#ids.get(id) ?? 1) - 1
      if (others > 0) this.#ids.set(id, others)
      else this.#ids.delete(id)
    }
  }
}

const idsOf = ({ messages }: Entry): string[] =>
  messages.flatMap(({ messageId }) => (messageId === null ? [] : [messageId]))
