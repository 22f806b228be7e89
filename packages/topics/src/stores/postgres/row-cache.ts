import type { RawMessage } from '../../payload/raw-message.ts'
import { RowCache } from '../row-cache.ts'

/** A page that one group has read, for those that come to the place where it begins. */
export type KnownPage = {
  /** As the server wrote it, and is to read it again; it takes no page of another life of its own. */
  readonly text: string
  readonly messages: readonly RawMessage[]
  readonly lastId: number
  /** Its reader wanted no more; otherwise the log ended there. */
  readonly isFull: boolean
}

type TopicRows = {
  /** The life of the server in which all of it was read (`incarnation` in functions/cursor.sql). */
  readonly server: string
  readonly cache: RowCache
  /** By the places where they begin, as long as their rows are in the cache. */
  readonly pages: Map<string, KnownPage>
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
 *
 * A server that crashed or was replaced may have lost its newest commits, and gives their ids, and their transactions' ids,
 * to other messages. So everything here belongs to one life of the server, which every claim's answer names, and to one
 * *era* of this process: a connection that is lost begins the next, with nothing kept. Who asked in one era neither takes
 * from the next nor adds to it.
 */
export class SharedRowCache {
  readonly #maxBytes: number
  readonly #topics = new Map<number, TopicRows>()
  readonly #readers = new Map<number, Reader>()
  /** By topic and place. */
  readonly #fetches = new Map<string, Promise<unknown>>()
  #era = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get era(): number {
    return this.#era
  }

  beginEra(): void {
    this.#era++
    this.#topics.clear()
    this.#readers.clear()
    this.#fetches.clear()
  }

  /** The keys alone are enough: rows that this group has yet to come to are there. */
  isAhead(topicId: number, subscriptionId: number): boolean {
    const reader = this.#readers.get(subscriptionId)
    return reader !== undefined && this.#topics.get(topicId)?.cache.get(reader.lastId + 1) !== undefined
  }

  /** These very rows, or undefined where one is missing, or was written by another transaction or read in another life. */
  rows(topicId: number, server: string, ids: readonly number[], xids: readonly number[]): RawMessage[] | undefined {
    const topic = this.#topics.get(topicId)
    if (topic?.server !== server) return undefined
    const found: RawMessage[] = []
    for (const [index, id] of ids.entries()) {
      const row = topic.cache.get(id)
      if (row === undefined || row.xid !== xids[index]) return undefined
      found.push(row)
    }
    return found
  }

  /** What another group found where this one stands, unless that is little because its reader wanted little. */
  nextPage(topicId: number, subscriptionId: number, limit: number): KnownPage | undefined {
    const place = this.#readers.get(subscriptionId)?.place
    const page = place ? this.#topics.get(topicId)?.pages.get(place) : undefined
    return page?.isFull && page.messages.length < limit / 2 ? undefined : page
  }

  /** Groups that drain a topic together come to a place at once: one fetches, and the others had better wait for it. */
  fetchAt(topicId: number, subscriptionId: number): Promise<unknown> | undefined {
    const place = this.#readers.get(subscriptionId)?.place
    return place ? this.#fetches.get(`${topicId}:${place}`) : undefined
  }

  /** What `claim` does at this group's place is what others may wait for. */
  async fetch<T>(topicId: number, subscriptionId: number, claim: () => Promise<T>): Promise<T> {
    const place = this.#readers.get(subscriptionId)?.place
    const key = `${topicId}:${place}`
    if (!place || this.#fetches.has(key)) return await claim()
    const claiming = claim()
    const waitedFor = claiming.catch(() => undefined)
    this.#fetches.set(key, waitedFor)
    return await claiming.finally(() => {
      if (this.#fetches.get(key) === waitedFor) this.#fetches.delete(key)
    })
  }

  /** Gives the rows that are now shared: an object that another group has already stays where it is the same row. */
  put(topicId: number, server: string, rows: readonly RawMessage[]): RawMessage[] {
    const { cache, pages } = this.#topic(topicId, server)
    const shared = rows.map(row => cache.put(row))
    for (const [place, { lastId }] of pages) {
      if (cache.get(lastId) !== undefined) break
      pages.delete(place)
    }
    return shared
  }

  /** `text`: a `known_page` of functions/types.sql. `limit`: what its reader wanted. */
  putPage(topicId: number, server: string, text: string, messages: readonly RawMessage[], limit: number): void {
    const [place = ''] = text.slice(1).split(',')
    const { pages } = this.#topic(topicId, server)
    const size = messages.length
    if (size <= (pages.get(place)?.messages.length ?? 0)) return
    pages.set(place, { text, messages, lastId: messages.at(-1)?.id ?? 0, isFull: size >= limit })
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

  #topic(topicId: number, server: string): TopicRows {
    let topic = this.#topics.get(topicId)
    if (topic?.server !== server) {
      topic = { server, cache: new RowCache(this.#maxBytes), pages: new Map() }
      this.#topics.set(topicId, topic)
    }
    return topic
  }
}
