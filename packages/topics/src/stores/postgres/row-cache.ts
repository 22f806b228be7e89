import type { RawMessage } from '../../payload/raw-message.ts'
import { RowCache } from '../row-cache.ts'

/** A page that one group has read, for groups that reach the place where it begins. */
export type KnownPage = {
  /** The server's own text of the page, sent back to it. The server refuses a page of another incarnation. */
  readonly text: string
  readonly messages: readonly RawMessage[]
  readonly lastId: number
  /** Its reader's limit was reached; otherwise the log ended there. */
  readonly isFull: boolean
}

/** How many rows are dropped at once at least. */
const DROPPED_AT_ONCE = 1_000

type TopicRows = {
  /** The server incarnation in which all of it was read (`incarnation` in functions/cursor.sql). */
  readonly server: string
  readonly cache: RowCache
  /** Pages by the place where they begin, as long as their rows are cached. */
  readonly pages: Map<string, KnownPage>
  /** The id from which on it is worth finding out again what all readers have passed. */
  dropAt: number
  /** The subscription that was last in the log then: until it moves, the others change nothing. */
  slowest: number | undefined
}
type Reader = {
  readonly topicId: number
  readonly lastId: number
  /** The group's place; null if unknown. */
  readonly place: string | null
}

/**
 * Decides, for topics that several groups of this process read, what a claim should fetch: rows; only their keys,
 * because another group is ahead and the rows are cached; or nothing, because another group has read exactly this page.
 *
 * A server that crashed or was replaced may have lost its newest commits, and reuses their ids and transaction ids for
 * other messages. So everything here belongs to one server incarnation, which every claim's answer names, and to one
 * *era* of this process: a lost connection starts the next era, with an empty cache. A claim that started in one era
 * neither reads from nor adds to the next.
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

  /** Keys are enough: the rows ahead of this group are cached. */
  isAhead(topicId: number, subscriptionId: number): boolean {
    const reader = this.#readers.get(subscriptionId)
    return reader !== undefined && this.#topics.get(topicId)?.cache.get(reader.lastId + 1) !== undefined
  }

  /**
   * Exactly these rows, or undefined if one is missing, was written by another transaction, or was read in another
   * incarnation.
   */
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

  /** What another group found at this place, unless it is short because its reader asked for little. */
  nextPage(topicId: number, subscriptionId: number, limit: number): KnownPage | undefined {
    const place = this.#readers.get(subscriptionId)?.place
    const page = place ? this.#topics.get(topicId)?.pages.get(place) : undefined
    return page?.isFull && page.messages.length < limit / 2 ? undefined : page
  }

  /** Groups that drain a topic together reach a place at once: one fetches, and the others wait for it. */
  fetchAt(topicId: number, subscriptionId: number): Promise<unknown> | undefined {
    const place = this.#readers.get(subscriptionId)?.place
    return place ? this.#fetches.get(`${topicId}:${place}`) : undefined
  }

  /** Others may wait for the result of `claim` at this group's place. */
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

  /** Returns the rows that are now shared: if another group already has an identical row, that object is kept. */
  put(topicId: number, server: string, rows: readonly RawMessage[]): RawMessage[] {
    const topic = this.#topic(topicId, server)
    const shared = rows.map(row => topic.cache.put(row))
    dropPages(topic)
    return shared
  }

  /** `text`: a `known_page` of functions/types.sql. `limit`: how many its reader asked for. */
  putPage(topicId: number, server: string, text: string, messages: readonly RawMessage[], limit: number): void {
    const [place = ''] = text.slice(1).split(',')
    const { pages } = this.#topic(topicId, server)
    const size = messages.length
    if (size <= (pages.get(place)?.messages.length ?? 0)) return
    pages.set(place, { text, messages, lastId: messages.at(-1)?.id ?? 0, isFull: size >= limit })
  }

  moved(subscriptionId: number, reader: Reader): void {
    this.#readers.set(subscriptionId, reader)
    const topic = this.#topics.get(reader.topicId)
    if (topic === undefined || reader.lastId < topic.dropAt) return
    if (topic.slowest === undefined || topic.slowest === subscriptionId) this.#dropPassed(topic, reader.topicId)
  }

  /**
   * Drops what every reader has passed. Kept until the cache is full, it would survive into V8's old generation, and a
   * drain of 100 000 messages by four groups had one or two full collections more.
   */
  #dropPassed(topic: TopicRows, topicId: number): void {
    let passed = Number.POSITIVE_INFINITY
    for (const [subscriptionId, reader] of this.#readers) {
      if (reader.topicId !== topicId || reader.lastId >= passed) continue
      passed = reader.lastId
      topic.slowest = subscriptionId
    }
    topic.dropAt = passed + DROPPED_AT_ONCE
    topic.cache.dropBelow(passed)
    dropPages(topic)
  }

  forgetReader(subscriptionId: number): void {
    const reader = this.#readers.get(subscriptionId)
    const topic = reader && this.#topics.get(reader.topicId)
    if (topic !== undefined && topic.slowest === subscriptionId) topic.slowest = undefined
    this.#readers.delete(subscriptionId)
  }

  forgetTopic(topicId: number): void {
    this.#topics.delete(topicId)
  }

  #topic(topicId: number, server: string): TopicRows {
    let topic = this.#topics.get(topicId)
    if (topic?.server !== server) {
      topic = {
        server,
        cache: new RowCache(this.#maxBytes),
        pages: new Map(),
        dropAt: DROPPED_AT_ONCE,
        slowest: undefined,
      }
      this.#topics.set(topicId, topic)
    }
    return topic
  }
}

/** Drops the pages whose rows are no longer cached. */
function dropPages({ cache, pages }: TopicRows): void {
  for (const [place, { lastId }] of pages) {
    if (cache.get(lastId) !== undefined) return
    pages.delete(place)
  }
}
