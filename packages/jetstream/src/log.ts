import { DatabaseRewoundError, TransactionError } from 'tidemark'
import type { BrowsePage, BrowseQuery, ByteBounds, Log, RawMessage, TailPage } from 'tidemark/store'
import { cleanUp } from './clean-up.ts'
import { type Entry, idOf, placeOf, seqOf } from './entry.ts'
import type { Namespace } from './namespace.ts'
import { topicKey } from './nats/names.ts'
import { findId } from './positions.ts'
import { publish } from './publish.ts'
import type { Steward } from './steward.ts'
import type { TopicDocument } from './topic-document.ts'
import type { TopicStore } from './topic-store.ts'

const UNBOUNDED = Number.MAX_SAFE_INTEGER
/** Entries examined for one page of browsing, however few messages match. */
const MOST_EXAMINED = 2_000

/** The logs of the topics. */
export function jetStreamLog(ns: Namespace, topics: TopicStore, steward: Steward): Log {
  return {
    publish: async (topic, messages, tx) => {
      if (tx !== undefined) throw new TransactionError(NO_TX)
      return await publish(ns, topics, topic, messages)
    },
    probe: () => ns.clock.probe(),
    find: async (topic, messageId) => {
      const { value } = await topics.read(topic)
      const id = await findId(ns, value, messageId)
      return id !== undefined && id >= value.gone ? id : undefined
    },
    browse: async (topic, query) => await browse(ns, (await topics.read(topic)).value, query),
    tail: async (topic, place, limit, bounds = {}) =>
      await tail(ns, (await topics.read(topic)).value, place, limit, bounds),
    cleanUp: (topic, batchSize) => cleanUp(ns, topics, steward, topic, batchSize),
  }
}

export const NO_TX =
  "A NATS JetStream topic can't take part in a transaction of yours. Publish inside the transaction to a PostgreSQL " +
  'topic, and relay its messages from there, each with its messageId, so that a repeated one is stored once'

/** Ids that a page of browsing may show. */
async function rangeOf(
  ns: Namespace,
  topic: TopicDocument,
  query: BrowseQuery,
): Promise<{ low: number; high: number }> {
  const reader = ns.reader(topic)
  const at = async (time: number): Promise<number> => {
    const entry = await reader.since(time)
    return entry === undefined ? UNBOUNDED : idOf(entry.seq, 0)
  }
  const from = query.since === undefined ? 0 : await at(query.since)
  const to = query.until === undefined ? UNBOUNDED : await at(query.until)
  return {
    low: Math.max(from, (query.after ?? -1) + 1, topic.gone),
    high: Math.min(to, query.before ?? UNBOUNDED) - 1,
  }
}

async function browse(ns: Namespace, topic: TopicDocument, query: BrowseQuery): Promise<BrowsePage> {
  const { low, high } = await rangeOf(ns, topic, query)
  if (high < low) return { messages: [], next: null, examined: null }
  const page = new Page(query)
  const entries = query.newestFirst ? backward(ns, topic, low, high) : forward(ns, topic, low)
  let examined = 0
  let first: number | null = null
  let last: number | null = null
  let isDone = true
  browsing: for await (const entry of entries) {
    if (query.signal?.aborted || examined++ >= MOST_EXAMINED) {
      isDone = false
      break
    }
    for (const place of placesOf(entry, query.newestFirst)) {
      const id = idOf(entry.seq, place)
      if (id < low) continue
      if (id > high) {
        if (query.newestFirst) continue
        break browsing
      }
      const message = entry.message(place)
      if (message !== undefined && !page.take(message)) {
        isDone = false
        break browsing
      }
      first ??= id
      last = id
    }
  }
  if (first === null || last === null) return { messages: [], next: null, examined: null }
  return {
    messages: page.messages,
    next: isDone ? null : last,
    examined: { first: Math.min(first, last), last: Math.max(first, last) },
  }
}

const placesOf = ({ count }: Entry, newestFirst: boolean): number[] =>
  Array.from({ length: count }, (_, place) => (newestFirst ? count - 1 - place : place))

const forward = (ns: Namespace, topic: TopicDocument, low: number): AsyncGenerator<Entry> =>
  ns.reader(topic).walk(seqOf(low))

const STEP = 128

/** Streams are read upwards only, so the log is read in steps from the end. */
async function* backward(ns: Namespace, topic: TopicDocument, low: number, high: number): AsyncGenerator<Entry> {
  let end = Math.min(seqOf(high), await lastSeq(ns, topic))
  while (end >= Math.max(1, seqOf(low))) {
    const start = Math.max(1, seqOf(low), end - STEP + 1)
    const step: Entry[] = []
    for await (const entry of ns.reader(topic).walk(start)) {
      if (entry.seq > end) break
      step.push(entry)
    }
    yield* step.toReversed()
    end = start - 1
  }
}

/** The last sequence of the log, as its leader has it. */
export async function lastSeq(ns: Namespace, topic: Pick<TopicDocument, 'id' | 'uid'>): Promise<number> {
  const { names, client } = ns
  const key = topicKey(topic)
  const stored = await client.last(names.logStream(key), names.entries(key))
  return stored?.seq ?? 0
}

/** Collects messages that match, within the bounds of a page. */
class Page {
  readonly messages: RawMessage[] = []
  readonly #query: Pick<BrowseQuery, 'key' | 'type' | 'limit'> & ByteBounds
  #bytes = 0

  constructor(query: Pick<BrowseQuery, 'key' | 'type' | 'limit'> & ByteBounds) {
    this.#query = query
  }

  /** False if the page has no room for it. */
  take(message: RawMessage): boolean {
    const { key, type, limit, maxBytes = UNBOUNDED, maxPayloadBytes = UNBOUNDED } = this.#query
    if (key !== undefined && message.key !== key) return true
    if (type !== undefined && message.type !== type) return true
    if (this.messages.length === limit) return false
    const bounded = withinBytes(message, maxPayloadBytes)
    const bytes = bounded.omittedBytes === undefined ? sizeOf(message) : 0
    if (this.messages.length > 0 && this.#bytes + bytes > maxBytes) return false
    this.#bytes += bytes
    this.messages.push(bounded)
    return true
  }
}

const bytesOf = (text: string | Uint8Array | null): number =>
  text === null ? 0 : typeof text === 'string' ? Buffer.byteLength(text) : text.length

export const sizeOf = ({ payload, headers, key }: RawMessage): number =>
  bytesOf(payload) + bytesOf(headers) + bytesOf(key)

/** A larger message comes without its payload and headers. */
export function withinBytes(message: RawMessage, most: number): RawMessage {
  const bytes = sizeOf(message)
  if (bytes <= most) return message
  return { ...message, headers: null, payload: message.type === null ? '' : new Uint8Array(0), omittedBytes: bytes }
}

/** A place is the last id that was seen, and the salt of its entry: a restored stream uses its sequences again. */
async function tail(
  ns: Namespace,
  topic: TopicDocument,
  place: string | null,
  limit: number,
  bounds: ByteBounds,
): Promise<TailPage> {
  if (place === null) return { messages: [], place: await endPlace(ns, topic) }
  const [id = 0, salt = 0] = place.split(' ').map(Number)
  const reader = ns.reader(topic)
  if (salt !== 0 && id >= topic.gone) {
    const entry = await reader.entry(seqOf(id))
    if (entry !== undefined && entry.salt !== salt) throw DatabaseRewoundError.ofTail(ns.location, topic.name)
    if (entry === undefined && (await lastSeq(ns, topic)) < seqOf(id)) {
      throw DatabaseRewoundError.ofTail(ns.location, topic.name)
    }
  }
  const page = new Page({ limit, ...bounds })
  let next = place
  reading: for (const entry of await reader.from(seqOf(Math.max(id, topic.gone)), limit + placeOf(id) + 1)) {
    for (let at = 0; at < entry.count; at++) {
      const message = entry.message(at)
      if (message === undefined || message.id <= id || message.id < topic.gone) continue
      if (!page.take(message)) break reading
      next = `${message.id} ${entry.salt}`
    }
  }
  return { messages: page.messages, place: next }
}

async function endPlace(ns: Namespace, topic: TopicDocument): Promise<string> {
  const seq = await lastSeq(ns, topic)
  const entry = seq === 0 ? undefined : await ns.reader(topic).entry(seq)
  return entry === undefined ? '0 0' : `${idOf(seq, 1_023)} ${entry.salt}`
}
