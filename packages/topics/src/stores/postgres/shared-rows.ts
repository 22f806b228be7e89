import type { RawMessage } from '../../raw-message.ts'
import { RowCache } from '../../row-cache.ts'

type TopicRows = { readonly cache: RowCache; highest: number }
type Reader = { lastId: number; missed: boolean }

/**
 * Decides, for topics that several groups of this process read, whether a claim should fetch rows or only their keys:
 * a group behind what another has fetched finds the rows in the cache.
 */
export class SharedRows {
  readonly #maxBytes: number
  readonly #topics = new Map<number, TopicRows>()
  readonly #readers = new Map<number, Reader>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The keys alone are enough: the cache is ahead of this group, and served it last time. */
  isAhead(topicId: number, subscriptionId: number): boolean {
    const topic = this.#topics.get(topicId)
    const reader = this.#readers.get(subscriptionId)
    return topic !== undefined && reader !== undefined && !reader.missed && reader.lastId < topic.highest
  }

  get(topicId: number, id: number): RawMessage | undefined {
    return this.#topics.get(topicId)?.cache.get(id)
  }

  /** Gives the rows that are now shared: those that another group fetched first stay. */
  put(topicId: number, rows: readonly RawMessage[]): RawMessage[] {
    let topic = this.#topics.get(topicId)
    if (!topic) {
      topic = { cache: new RowCache(this.#maxBytes), highest: 0 }
      this.#topics.set(topicId, topic)
    }
    const { cache } = topic
    topic.highest = rows.reduce((highest, { id }) => Math.max(highest, id), topic.highest)
    return rows.map(row => {
      cache.put(row)
      return cache.get(row.id) ?? row
    })
  }

  /** `missed`: most rows had left the cache, so that fetching them at once would have been better. */
  moved(subscriptionId: number, lastId: number, missed: boolean): void {
    this.#readers.set(subscriptionId, { lastId, missed })
  }
}
