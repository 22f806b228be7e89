/**
 * What one publish stores: entries of the log with its new messages, and a marker for each messageId that it was given.
 */
import { BatchTooLargeError, PayloadTooLargeError } from 'tidemark'
import type { OutgoingMessage, PublishedMessage, TopicRecord } from 'tidemark/store'
import { idOf, MOST_RECORDS } from './entry.ts'
import {
  type EncodedRecord,
  encodeEntry,
  encodeRecord,
  encodeTexts,
  entryOverhead,
  isPlainMessage,
} from './entry-encoding.ts'
import { markerData, markerHash, readMarker } from './markers.ts'
import type { Namespace } from './namespace.ts'
import { MOST_WRITES } from './nats/client.ts'
import type { Write } from './nats/messages.ts'
import { topicKey } from './nats/names.ts'
import { findDerived } from './positions.ts'

/** Headers and the protocol's own bytes. A dead letter needs room for its history, too. */
const RESERVED_BYTES = 16 * 1024
/** How long a marker of a batch is kept that may have to be sent again. */
const NONCE_SECONDS = 600

/** A batch that is ready to be sent. */
export type Plan = {
  /** Empty: every message was stored before. */
  readonly writes: readonly Write[]
  /** By the sequence of the last write. */
  resultsOf(seq: number): PublishedMessage[]
}

type Attempt = {
  readonly salt: number
  readonly nonce: string
  /** Number of batches of unknown outcome before it. */
  readonly number: number
}

export async function planOf(
  ns: Namespace,
  topic: TopicRecord,
  messages: readonly OutgoingMessage[],
  attempt: Attempt,
): Promise<Plan> {
  const isNew = messages.every(({ messageId }) => messageId === null)
  return isNew ? planOfNew(ns, topic, messages, attempt) : await planWithIds(ns, topic, messages, attempt)
}

function planOfNew(ns: Namespace, topic: TopicRecord, messages: readonly OutgoingMessage[], attempt: Attempt): Plan {
  const entries = entriesOf(ns, topic, messages, attempt.salt)
  return {
    writes: writesOf(ns, topic, entries, [], attempt),
    resultsOf: seq => {
      const { salt } = attempt
      const results: PublishedMessage[] = []
      for (const [index, { count }] of entries.entries()) {
        const first = idOf(seq - entries.length + 1 + index, 0)
        for (let place = 0; place < count; place++) results.push({ id: first + place, salt, duplicate: false })
      }
      return results
    },
  }
}

/** Each message, with the id under which it was stored before. */
type Planned = {
  readonly message: OutgoingMessage
  readonly hash: string | null
  /** Id of the message that it repeats, or the message of this publish. */
  readonly duplicateOf: number | Planned | null
  /** Sequence that its marker must have. */
  readonly expected: number
  /** Its entry, counted from the end of the batch, and its place there: known when the entries are made. */
  fromEnd: number
  place: number
}

async function planWithIds(
  ns: Namespace,
  topic: TopicRecord,
  messages: readonly OutgoingMessage[],
  attempt: Attempt,
): Promise<Plan> {
  const all = await withEarlier(ns, topic, messages)
  const fresh = all.filter(({ duplicateOf }) => duplicateOf === null)
  const made = fresh.map(({ message }) => message)
  const entries = entriesOf(ns, topic, made, attempt.salt)
  let at = 0
  for (const [index, { count }] of entries.entries()) {
    for (const [place, each] of fresh.slice(at, at + count).entries()) {
      each.fromEnd = entries.length - 1 - index
      each.place = place
    }
    at += count
  }
  const marked = fresh.filter(({ hash }) => hash !== null)
  return {
    writes: writesOf(ns, topic, entries, marked, attempt),
    resultsOf: seq => {
      const idOfNew = ({ fromEnd, place }: Planned): number => idOf(seq - fromEnd, place)
      return all.map(each => {
        const { duplicateOf } = each
        const id = typeof duplicateOf === 'number' ? duplicateOf : idOfNew(duplicateOf ?? each)
        return { id, salt: attempt.salt, duplicate: duplicateOf !== null }
      })
    },
  }
}

/** Looks up what was stored before. */
async function withEarlier(
  ns: Namespace,
  topic: TopicRecord,
  messages: readonly OutgoingMessage[],
): Promise<readonly Planned[]> {
  const first = new Map<string, Planned>()
  const window = topic.config.dedupeWindowMs
  const oldest = window === null ? 0 : ns.clock.now() - window
  const known = await Promise.all(
    messages.map(async ({ messageId }) => {
      if (messageId === null) return null
      const derived = await findDerived(ns, topic, messageId)
      return { derived, marker: derived === undefined ? await readMarker(ns, topic, markerHash(messageId)) : null }
    }),
  )
  const unknown = { hash: null, duplicateOf: null, expected: 0, fromEnd: 0, place: 0 }
  return messages.map((message, place) => {
    const { messageId } = message
    if (messageId === null) return { ...unknown, message }
    const { derived, marker } = known[place] ?? {}
    const remembered = marker != null && marker.at >= oldest ? marker.id : undefined
    const duplicateOf = first.get(messageId) ?? derived ?? remembered ?? null
    const hash = markerHash(messageId)
    const each: Planned = { ...unknown, message, hash, duplicateOf, expected: marker?.seq ?? 0 }
    if (duplicateOf === null) first.set(messageId, each)
    return each
  })
}

function writesOf(
  ns: Namespace,
  topic: TopicRecord,
  entries: readonly EntryPlan[],
  marked: readonly Planned[],
  { nonce, number }: Attempt,
): Write[] {
  const key = topicKey(topic)
  const { dedupeWindowMs } = topic.config
  const ttl = dedupeWindowMs === null ? undefined : Math.max(1, Math.ceil(dedupeWindowMs / 1_000))
  // A batch of several messages has a marker of its own, which tells after a lost answer that it was stored.
  const hasNonce = entries.length + marked.length > 1
  const total = entries.length + marked.length + (hasNonce ? 1 : 0)
  if (total > MOST_WRITES) throw tooMany(topic, entries)
  const head: Write[] = hasNonce
    ? [marker(ns.names.marker(key, nonce), { distance: total - 1, place: number }, 0, NONCE_SECONDS)]
    : []
  const markers = marked.map((each, index) => {
    const distance = total - 1 - each.fromEnd - (head.length + index)
    return marker(ns.names.marker(key, each.hash ?? ''), { distance, place: each.place }, each.expected, ttl)
  })
  const bodies = entries.map(({ count, data }) => ({
    subject: ns.names.entries(key),
    data,
    headers: { 'Tm-N': String(count) },
  }))
  return [...head, ...markers, ...bodies]
}

const marker = (
  subject: string,
  value: { readonly distance: number; readonly place: number },
  expected: number,
  ttl: number | undefined,
): Write => ({ subject, data: markerData(value), expected, ...(ttl !== undefined && { ttl }) })

type EntryPlan = { readonly count: number; readonly data: Buffer }

/** As few entries as hold all messages, in their order, within the server's limit. */
function entriesOf(ns: Namespace, topic: TopicRecord, messages: readonly OutgoingMessage[], salt: number): EntryPlan[] {
  if (messages.length === 0) return []
  const limit = ns.client.connection.maxPayload - RESERVED_BYTES
  const isPlain = messages.every(isPlainMessage)
  const data = isPlain ? encodeTexts(messages.map(textOf), salt, limit) : undefined
  if (data !== undefined) return [{ count: messages.length, data }]
  return split(topic, messages, isPlain, limit).map(records => ({
    count: records.length,
    data: encodeEntry(records, isPlain, salt),
  }))
}

const textOf = ({ payload }: OutgoingMessage): string => payload as string

function split(
  topic: TopicRecord,
  messages: readonly OutgoingMessage[],
  isPlain: boolean,
  limit: number,
): EncodedRecord[][] {
  const parts: EncodedRecord[][] = []
  let bytes = 0
  for (const message of messages) {
    const record = encodeRecord(message, isPlain)
    if (record.bytes + entryOverhead(1) > limit) throw tooLarge(topic, record.bytes, limit)
    const last = parts.at(-1)
    const next = bytes + record.bytes
    if (last !== undefined && last.length < MOST_RECORDS && next + entryOverhead(last.length + 1) <= limit) {
      last.push(record)
      bytes = next
    } else {
      parts.push([record])
      bytes = record.bytes
    }
  }
  return parts
}

function tooLarge(topic: TopicRecord, bytes: number, limit: number): PayloadTooLargeError {
  const error = new PayloadTooLargeError(topic.name, bytes, limit)
  error.message += `. The limit is max_payload of the NATS server, less ${RESERVED_BYTES} bytes: raise it there`
  return error
}

function tooMany(topic: TopicRecord, entries: readonly EntryPlan[]): BatchTooLargeError {
  const messages = entries.reduce((sum, { count }) => sum + count, 0)
  const error = new BatchTooLargeError(topic.name, messages, MOST_WRITES)
  const why = `needs more than the ${MOST_WRITES} writes of an atomic batch of NATS: one for each messageId`
  error.message = `The batch of ${messages} messages for topic '${topic.name}' ${why}. Publish it in several batches`
  return error
}
