import { randomBytes } from 'node:crypto'
import {
  DatabaseUnreachableError,
  NoSubscriptionsError,
  OutcomeUnknownError,
  PayloadTooLargeError,
  TidemarkError,
  TopicNotFoundError,
} from 'tidemark'
import type { OutgoingMessage, PublishedMessage, TopicRecord } from 'tidemark/store'
import {
  type EncodedRecord,
  encodeEntry,
  encodeRecord,
  entryOverhead,
  idOf,
  isPlainMessage,
  MOST_RECORDS,
  placeOf,
  seqOf,
} from './entry.ts'
import { isLive } from './group/document.ts'
import { markerData, markerHash, readMarker } from './markers.ts'
import type { Namespace } from './namespace.ts'
import { MOST_WRITES, pause, type Write } from './nats/client.ts'
import { BatchDropped, Conflict, NoAnswer, StreamGone, unreachable } from './nats/errors.ts'
import { topicKey } from './nats/names.ts'
import { findDerived } from './positions.ts'
import { random52 } from './random.ts'
import type { TopicStore } from './topic-store.ts'
import type { Turn } from './turns.ts'

/** Headers and the protocol's own bytes. A dead letter needs room for its history, too. */
const RESERVED_BYTES = 16 * 1024
const GIVE_UP_MS = 30_000
/** How long a marker of a batch is kept that may have to be sent again. */
const NONCE_SECONDS = 600

/** Stores the messages in one atomic batch. What is sent again after a lost answer is stored once. */
export async function publish(
  ns: Namespace,
  topics: TopicStore,
  topic: TopicRecord,
  messages: readonly OutgoingMessage[],
): Promise<PublishedMessage[]> {
  ns.guard.assertThere()
  const turn = ns.turns.take(topicKey(topic))
  try {
    return await publishInTurn(ns, topics, topic, messages, turn)
  } finally {
    turn.pass()
  }
}

async function publishInTurn(
  ns: Namespace,
  topics: TopicStore,
  topic: TopicRecord,
  messages: readonly OutgoingMessage[],
  turn: Turn,
): Promise<PublishedMessage[]> {
  if (topic.config.blockPublishWithoutSubscription) await requireSubscription(topics, topic)
  const salt = random52()
  const nonce = randomBytes(12).toString('hex')
  const until = performance.now() + GIVE_UP_MS
  /** Batches of unknown outcome. */
  const unknown: Attempt[] = []
  for (let tries = 0; ; tries++) {
    let sent: Attempt | null = null
    try {
      const stored = unknown.length === 0 ? null : await storedOf(ns, topic, nonce, unknown)
      if (stored !== null) return resultsOf(stored, salt)
      const plan = await planOf(ns, topic, messages)
      const planned = toWrites(ns, topic, plan, { salt, nonce, number: unknown.length })
      if (planned.writes.length === 0) return resultsOf({ plan, planned, seq: 0 }, salt)
      await turn.come
      sent = { plan, planned }
      const storing = ns.client.store(planned.writes, planned.writes.length === 1 ? nonce : undefined)
      turn.pass()
      const { seq } = await storing
      ns.reader(topic).published(seq)
      ns.client.tell(ns.names.hint(topic.id), '')
      return resultsOf({ plan, planned, seq }, salt)
    } catch (error) {
      // Another publisher has stored one of the ids first, or this batch was stored when its answer was lost.
      if (error instanceof Conflict) continue
      const isUnreachable = error instanceof DatabaseUnreachableError && unknown.length > 0
      if (!(error instanceof NoAnswer || error instanceof BatchDropped || isUnreachable)) {
        throw await goneError(ns, topic, error)
      }
      if (error instanceof NoAnswer && sent !== null) {
        unknown.push(sent)
        await assertTopic(topics, topic, tries)
      }
      if (performance.now() > until) throw outcomeOf(ns, unknown, error)
      await pause(20 + Math.random() * 50)
    }
  }
}

type Attempt = { readonly plan: readonly Planned[]; readonly planned: Writes }

/** The batch that was stored although its answer was lost, if one was. */
async function storedOf(
  ns: Namespace,
  topic: TopicRecord,
  nonce: string,
  unknown: readonly Attempt[],
): Promise<(Attempt & { readonly seq: number }) | null> {
  const own = await readMarker(ns, topic, nonce)
  if (own === null) return null
  const attempt = unknown[placeOf(own.id)]
  if (attempt === undefined) return null
  ns.reader(topic).published(seqOf(own.id))
  return { ...attempt, seq: seqOf(own.id) }
}

/** Nothing was stored if the server has refused every batch. */
const outcomeOf = (ns: Namespace, unknown: readonly Attempt[], error: unknown): Error =>
  unknown.length === 0 ? unreachable(ns.location, error) : OutcomeUnknownError.afterLostConnection(ns.location, error)

/** Each message, with the id under which it was stored before. */
type Planned = {
  readonly message: OutgoingMessage
  readonly hash: string | null
  /** Id of the message that it repeats, or the message of this publish. */
  readonly duplicateOf: number | Planned | null
  /** Sequence that its marker must have. */
  readonly expected: number
}

async function planOf(ns: Namespace, topic: TopicRecord, messages: readonly OutgoingMessage[]): Promise<Planned[]> {
  if (messages.every(({ messageId }) => messageId === null)) {
    return messages.map(message => ({ message, hash: null, duplicateOf: null, expected: 0 }))
  }
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
      plan.push({ message, hash: null, duplicateOf: null, expected: 0 })
      continue
    }
    const { derived, marker } = known[place] ?? {}
    const remembered = marker != null && marker.at >= oldest ? marker.id : undefined
    const earlier = first.get(messageId)
    const duplicateOf = earlier ?? derived ?? remembered ?? null
    const each: Planned = { message, hash: markerHash(messageId), duplicateOf, expected: marker?.seq ?? 0 }
    if (duplicateOf === null) first.set(messageId, each)
    plan.push(each)
  }
  return plan
}

type Writes = {
  readonly writes: readonly Write[]
  /** Entry and place of each new message; the entry counts from the end of the batch. */
  readonly places: ReadonlyMap<Planned, { readonly fromEnd: number; readonly place: number }>
}

type Sent = {
  readonly salt: number
  readonly nonce: string
  /** Number of batches of unknown outcome before it. */
  readonly number: number
}

function toWrites(ns: Namespace, topic: TopicRecord, plan: readonly Planned[], { salt, nonce, number }: Sent): Writes {
  const key = topicKey(topic)
  const fresh = plan.filter(({ duplicateOf }) => duplicateOf === null)
  const limit = ns.client.maxPayload - RESERVED_BYTES
  const entries = split(topic, fresh, limit)
  const places = new Map<Planned, { readonly fromEnd: number; readonly place: number }>()
  for (const [index, entry] of entries.entries()) {
    for (const [place, each] of entry.planned.entries()) {
      places.set(each, { fromEnd: entries.length - 1 - index, place })
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
    const { fromEnd = 0, place = 0 } = places.get(each) ?? {}
    const distance = total - 1 - fromEnd - (head.length + index)
    return marker(ns.names.marker(key, each.hash ?? ''), { distance, place }, each.expected, ttl)
  })
  const bodies = entries.map(({ records, isPlain }) => ({
    subject: ns.names.entries(key),
    data: encodeEntry(records, isPlain, salt),
    headers: { 'Tm-N': String(records.length) },
  }))
  return { writes: [...head, ...markers, ...bodies], places }
}

const marker = (
  subject: string,
  value: { readonly distance: number; readonly place: number },
  expected: number,
  ttl: number | undefined,
): Write => ({ subject, data: markerData(value), expected, ...(ttl !== undefined && { ttl }) })

type EntryPlan = { readonly planned: Planned[]; readonly records: EncodedRecord[]; readonly isPlain: boolean }

/** As few entries as hold all messages within the server's limit. */
function split(topic: TopicRecord, fresh: readonly Planned[], limit: number): EntryPlan[] {
  const entries: EntryPlan[] = []
  const isPlain = fresh.every(({ message }) => isPlainMessage(message))
  let bytes = 0
  for (const each of fresh) {
    const record = encodeRecord(each.message, isPlain)
    if (record.bytes + entryOverhead(1) > limit) throw tooLarge(topic, record.bytes, limit)
    const last = entries.at(-1)
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
      entries.push({ planned: [each], records: [record], isPlain })
      bytes = record.bytes
    }
  }
  return entries
}

function resultsOf(
  { plan, planned: { places }, seq }: Attempt & { readonly seq: number },
  salt: number,
): PublishedMessage[] {
  const idOfNew = (each: Planned): number => {
    const { fromEnd = 0, place = 0 } = places.get(each) ?? {}
    return idOf(seq - fromEnd, place)
  }
  return plan.map(each => {
    const { duplicateOf } = each
    if (duplicateOf === null) return { id: idOfNew(each), salt, duplicate: false }
    return { id: typeof duplicateOf === 'number' ? duplicateOf : idOfNew(duplicateOf), salt, duplicate: true }
  })
}

/** Checked before the publish, not with it: the log and the groups are different streams. */
async function requireSubscription(topics: TopicStore, topic: TopicRecord): Promise<void> {
  const { value } = await topics.read(topic)
  const groups = await topics.groups(value)
  if (!groups.some(group => isLive(group.value))) throw new NoSubscriptionsError(topic.name)
}

/** Nobody may answer because the topic no longer exists. */
async function assertTopic(topics: TopicStore, topic: TopicRecord, attempt: number): Promise<void> {
  if (attempt % 4 !== 0) return
  topics.forget(topic.id)
  try {
    await topics.read(topic)
    await topics.examine(topic, { now: true })
  } catch (error) {
    // Others are no answer either.
    if (error instanceof TidemarkError && !(error instanceof DatabaseUnreachableError)) throw error
  }
}

async function goneError(ns: Namespace, topic: TopicRecord, error: unknown): Promise<unknown> {
  if (!(error instanceof StreamGone)) return error
  await ns.assertThere()
  return new TopicNotFoundError(topic.name)
}

function tooLarge(topic: TopicRecord, bytes: number, limit: number): PayloadTooLargeError {
  const error = new PayloadTooLargeError(topic.name, bytes, limit)
  error.message += `. The limit is max_payload of the NATS server, less ${RESERVED_BYTES} bytes: raise it there`
  return error
}

const tooMany = (topic: TopicRecord, messages: number): Error =>
  new PayloadTooLargeError(topic.name, messages, MOST_WRITES)
