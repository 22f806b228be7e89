/**
 * What one publish stores: entries of the log with its new messages, and a marker for each messageId that it was given.
 */
import { PayloadTooLargeError } from 'tidemark'
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

/** Each message, with the id under which it was stored before. */
type Planned = {
  readonly message: OutgoingMessage
  readonly hash: string | null
  /** Id of the message that it repeats, or the message of this publish. */
  readonly duplicateOf: number | Planned | null
  /** Sequence that its marker must have. */
  readonly expected: number
  /** Its entry, counted from the end of the batch, and its place there. Set when the batch is put together. */
  fromEnd: number
  place: number
}

export type Plan = readonly Planned[]

export async function planOf(ns: Namespace, topic: TopicRecord, messages: readonly OutgoingMessage[]): Promise<Plan> {
  if (messages.every(({ messageId }) => messageId === null)) return messages.map(withoutId)
  const first = new Map<string, Planned>()
  const window = topic.config.dedupeWindowMs
  const oldest = window === null ? 0 : ns.clock.now() - window
  const plan: Planned[] = []
  const known = await Promise.all(
    messages.map(async ({ messageId }) => {
      if (messageId === null) return null
      const derived = await findDerived(ns, topic, messageId)
      return { derived, marker: derived === undefined ? await readMarker(ns, topic, markerHash(messageId)) : null }
    }),
  )
  for (const [place, message] of messages.entries()) {
    const { messageId } = message
    if (messageId === null) {
      plan.push(withoutId(message))
      continue
    }
    const { derived, marker } = known[place] ?? {}
    const remembered = marker != null && marker.at >= oldest ? marker.id : undefined
    const earlier = first.get(messageId)
    const duplicateOf = earlier ?? derived ?? remembered ?? null
    const hash = markerHash(messageId)
    const each: Planned = { message, hash, duplicateOf, expected: marker?.seq ?? 0, fromEnd: 0, place: 0 }
    if (duplicateOf === null) first.set(messageId, each)
    plan.push(each)
  }
  return plan
}

const withoutId = (message: OutgoingMessage): Planned => ({
  message,
  hash: null,
  duplicateOf: null,
  expected: 0,
  fromEnd: 0,
  place: 0,
})

type Sent = {
  readonly salt: number
  readonly nonce: string
  /** Number of batches of unknown outcome before it. */
  readonly number: number
}

export function toWrites(ns: Namespace, topic: TopicRecord, plan: Plan, { salt, nonce, number }: Sent): Write[] {
  const key = topicKey(topic)
  const fresh = plan.filter(({ duplicateOf }) => duplicateOf === null)
  const limit = ns.client.connection.maxPayload - RESERVED_BYTES
  const entries = entriesOf(topic, fresh, salt, limit)
  for (const [index, { planned }] of entries.entries()) {
    for (const [place, each] of planned.entries()) {
      each.fromEnd = entries.length - 1 - index
      each.place = place
    }
  }
  const marked = fresh.filter(({ hash }) => hash !== null)
  const { dedupeWindowMs } = topic.config
  const ttl = dedupeWindowMs === null ? undefined : Math.max(1, Math.ceil(dedupeWindowMs / 1_000))
  // A batch of several messages has a marker of its own, which tells after a lost answer that it was stored.
  const hasNonce = entries.length + marked.length > 1
  const total = entries.length + marked.length + (hasNonce ? 1 : 0)
  if (total > MOST_WRITES) throw tooMany(topic, plan.length)
  const head: Write[] = hasNonce
    ? [marker(ns.names.marker(key, nonce), { distance: total - 1, place: number }, 0, NONCE_SECONDS)]
    : []
  const markers = marked.map((each, index) => {
    const distance = total - 1 - each.fromEnd - (head.length + index)
    return marker(ns.names.marker(key, each.hash ?? ''), { distance, place: each.place }, each.expected, ttl)
  })
  const bodies = entries.map(({ planned, data }) => ({
    subject: ns.names.entries(key),
    data,
    headers: { 'Tm-N': String(planned.length) },
  }))
  return [...head, ...markers, ...bodies]
}

const marker = (
  subject: string,
  value: { readonly distance: number; readonly place: number },
  expected: number,
  ttl: number | undefined,
): Write => ({ subject, data: markerData(value), expected, ...(ttl !== undefined && { ttl }) })

type EntryPlan = { readonly planned: Plan; readonly data: Buffer }

/** As few entries as hold all messages within the server's limit. */
function entriesOf(topic: TopicRecord, fresh: Plan, salt: number, limit: number): EntryPlan[] {
  if (fresh.length === 0) return []
  const isPlain = fresh.every(({ message }) => isPlainMessage(message))
  const texts = isPlain ? fresh.map(({ message }) => message.payload as string) : undefined
  const data = texts && encodeTexts(texts, salt, limit)
  if (data !== undefined) return [{ planned: fresh, data }]
  return split(topic, fresh, isPlain, limit).map(({ planned, records }) => ({
    planned,
    data: encodeEntry(records, isPlain, salt),
  }))
}

type Part = { readonly planned: Planned[]; readonly records: EncodedRecord[] }

function split(topic: TopicRecord, fresh: Plan, isPlain: boolean, limit: number): Part[] {
  const parts: Part[] = []
  let bytes = 0
  for (const each of fresh) {
    const record = encodeRecord(each.message, isPlain)
    if (record.bytes + entryOverhead(1) > limit) throw tooLarge(topic, record.bytes, limit)
    const last = parts.at(-1)
    const next = bytes + record.bytes
    if (
      last !== undefined &&
      last.records.length < MOST_RECORDS &&
      next + entryOverhead(last.records.length + 1) <= limit
    ) {
      last.planned.push(each)
      last.records.push(record)
      bytes = next
    } else {
      parts.push({ planned: [each], records: [record] })
      bytes = record.bytes
    }
  }
  return parts
}

export function resultsOf(plan: Plan, seq: number, salt: number): PublishedMessage[] {
  const idOfNew = ({ fromEnd, place }: Planned): number => idOf(seq - fromEnd, place)
  return plan.map(each => {
    const { duplicateOf } = each
    if (duplicateOf === null) return { id: idOfNew(each), salt, duplicate: false }
    return { id: typeof duplicateOf === 'number' ? duplicateOf : idOfNew(duplicateOf), salt, duplicate: true }
  })
}

function tooLarge(topic: TopicRecord, bytes: number, limit: number): PayloadTooLargeError {
  const error = new PayloadTooLargeError(topic.name, bytes, limit)
  error.message += `. The limit is max_payload of the NATS server, less ${RESERVED_BYTES} bytes: raise it there`
  return error
}

const tooMany = (topic: TopicRecord, messages: number): Error =>
  new PayloadTooLargeError(topic.name, messages, MOST_WRITES)
