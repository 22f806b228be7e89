import type { RawMessage } from '../../raw-message.ts'
import { RowCache } from '../../row-cache.ts'

/** A page that one group has read, for those that come to the place where it begins. */
export type KnownPage = {
  /** As the server wrote it, and is to read it again. */
  readonly text: string
  readonly messages: readonly RawMessage[]
  readonly lastId: number
  /** The place after it. */
  readonly end: string
}

type TopicRows = {
  readonly cache: RowCache
  /** By the places where they begin, as long as their rows are in the cache. */
  readonly pages: Map<string, KnownPage>
  /** By the places where they begin. */
  readonly fetches: Map<string, Promise<unknown>>
}
type Reader = {
  readonly lastId: number
  /** Where it stands; null where that is not known. */
  readonly place: string | null
}

/**
 * Decides, for topics that several groups of this process read, what a claim should fetch: rows, or only their keys, because
 * the group is behind what another has fetched and finds the rows in the cache; or nothing, because another group has
 * read the very page.
 */
export class SharedRows {
  readonly #maxBytes: number
  readonly #topics = new Map<number, TopicRows>()
  readonly #readers = new Map<number, Reader>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The keys alone are enough: rows that this group has yet to come to are there. */
  isAhead(topicId: number, subscriptionId: number): boolean {
    const reader = this.#readers.get(subscriptionId)
    return reader !== undefined && this.get(topicId, reader.lastId + 1) !== undefined
  }

  get(topicId: number, id: number): RawMessage | undefined {
    return this.#topics.get(topicId)?.cache.get(id)
  }

  /** What another group found where this one stands. */
  nextPage(topicId: number, subscriptionId: number): KnownPage | undefined {
    const place = this.#readers.get(subscriptionId)?.place
    return place ? this.#topics.get(topicId)?.pages.get(place) : undefined
  }

  /** Groups that drain a topic together come to a place at once: one fetches, and the others had better wait for it. */
  fetchAt(topicId: number, subscriptionId: number): Promise<unknown> | undefined {
    const place = this.#readers.get(subscriptionId)?.place
    return place ? this.#topics.get(topicId)?.fetches.get(place) : undefined
  }

  /** What `claim` does at this group's place is what others may wait for. */
  async fetch<T>(topicId: number, subscriptionId: number, claim: () => Promise<T>): Promise<T> {
    const place = this.#readers.get(subscriptionId)?.place
    const { fetches } = this.#topic(topicId)
    if (!place || fetches.has(place)) return await claim()
    const claiming = claim()
    fetches.set(
      place,
      claiming.catch(() => undefined),
    )
    return await claiming.finally(() => fetches.delete(place))
  }

  /** Gives the rows that are now shared: those that another group fetched first stay. */
  put(topicId: number, rows: readonly RawMessage[]): RawMessage[] {
    const { cache, pages } = this.#topic(topicId)
    const shared = rows.map(row => {
      cache.put(row)
      return cache.get(row.id) ?? row
    })
    for (const [place, { lastId }] of pages) {
      if (cache.get(lastId) !== undefined) break
      pages.delete(place)
    }
    return shared
  }

  /** `text`: a `known_page` of migrations/002_cursor.sql. */
  putPage(topicId: number, text: string, messages: readonly RawMessage[]): void {
    const [atXid = '', atId = '', , , lastXid = '', lastId = ''] = text.slice(1, -1).split(',')
    const page = { text, messages, lastId: messages.at(-1)?.id ?? 0, end: placeOf(lastXid, lastId) }
    const { pages } = this.#topic(topicId)
    const place = placeOf(atXid, atId)
    if (!pages.has(place)) pages.set(place, page)
  }

  moved(subscriptionId: number, reader: Reader): void {
    this.#readers.set(subscriptionId, reader)
  }

  forgetReader(subscriptionId: number): void {
    this.#readers.delete(subscriptionId)
  }

  forgetTopic(topicId: number): void {
    this.#topics.delete(topicId)
  }

  #topic(topicId: number): TopicRows {
    let topic = this.#topics.get(topicId)
    if (!topic) {
      topic = { cache: new RowCache(this.#maxBytes), pages: new Map(), fetches: new Map() }
      this.#topics.set(topicId, topic)
    }
    return topic
  }
}

export const placeOf = (xid: string, id: string | null | undefined): string => `${xid},${id}`
