import { MessageNotFoundError, PositionGoneError } from 'tidemark'
import { messageIdOf, parseMessageId, type StartPosition } from 'tidemark/store'
import { type Entry, endOf, idOf, placeOf, seqOf } from './entry.ts'
import { encodeEntry } from './entry-encoding.ts'
import { markerHash, readMarker } from './markers.ts'
import type { Namespace } from './namespace.ts'
import { topicKey } from './nats/names.ts'
import { random52 } from './random.ts'
import type { TopicDocument } from './topic-document.ts'

/** Everything up to `cursor` is before the position; `lastId` is the last message there. */
export type Position = { readonly cursor: number; readonly lastId: number }

export async function positionAt(ns: Namespace, topic: TopicDocument, from: StartPosition): Promise<Position> {
  if (from === 'beginning') return before(topic.gone)
  if (from === 'now') return await presentPosition(ns, topic)
  const reader = ns.reader(topic)
  if (typeof from === 'object' && 'timestamp' in from) {
    const at = (entry: Entry): Position => before(Math.max(idOf(entry.seq, 0), topic.gone))
    const entry = await reader.since(from.timestamp)
    if (entry !== undefined) return at(entry)
    const present = await presentPosition(ns, topic)
    // One may have been published meanwhile, before the empty entry.
    const late = from.timestamp > ns.clock.now() ? undefined : await reader.since(from.timestamp)
    return late === undefined ? present : at(late)
  }
  const id = await findId(ns, topic, from.messageId)
  if (id === undefined || id < topic.gone) throw new MessageNotFoundError(topic.name, from.messageId)
  return before(id)
}

/** Just before a message. */
export const before = (id: number): Position => {
  const cursor = placeOf(id) === 0 ? endOf(seqOf(id) - 1) : id - 1
  return id <= 0 ? { cursor: -1, lastId: 0 } : { cursor: Math.max(cursor, -1), lastId: Math.max(0, id - 1) }
}

/**
 * After everything that is stored now. An empty entry is appended, and the position is behind it: a server that lags
 * behind, or believes that it still leads, can't be wrong about that.
 */
async function presentPosition(ns: Namespace, topic: Pick<TopicDocument, 'id' | 'uid'>): Promise<Position> {
  const key = topicKey(topic)
  const data = encodeEntry([], true, random52())
  const seq = await ns.client.storeSurely([{ subject: ns.names.entries(key), data, headers: { 'Tm-N': '0' } }])
  ns.reader(topic).published(seq)
  return { cursor: endOf(seq), lastId: (await lastMessageId(ns, topic, seq)) ?? 0 }
}

/** The last message below a sequence, if it is not far. */
async function lastMessageId(
  ns: Namespace,
  topic: Pick<TopicDocument, 'id' | 'uid'>,
  below: number,
): Promise<number | undefined> {
  const entries = await ns.reader(topic).from(Math.max(1, below - 64), Number.MAX_SAFE_INTEGER)
  const last = entries.findLast(({ seq, count }) => seq < below && count > 0)
  return last && idOf(last.seq, last.count - 1)
}

/** The id of a message, also of one that was cleaned up; undefined: there never was such a message. */
export async function findId(ns: Namespace, topic: TopicDocument, messageId: string): Promise<number | undefined> {
  const reader = ns.reader(topic)
  const kept = await findDerived(ns, topic, messageId)
  if (kept !== undefined) return kept
  const derived = parseMessageId(topic.uid, messageId)
  const marker = await readMarker(ns, topic, markerHash(messageId))
  if (marker !== null) return marker.id
  if (derived !== undefined && derived.id < topic.gone) return derived.id
  // Past its dedupe window it is only found in the log itself.
  let found: number | undefined
  for await (const entry of reader.walk(seqOf(topic.gone))) found = placeIn(entry, messageId) ?? found
  return found
}

/** A messageId that Tidemark made leads straight to its message. */
export async function findDerived(
  ns: Namespace,
  topic: Pick<TopicDocument, 'id' | 'uid'>,
  messageId: string,
): Promise<number | undefined> {
  const derived = parseMessageId(topic.uid, messageId)
  if (derived === undefined) return undefined
  const message = await ns.reader(topic).message(derived.id)
  return message?.salt === derived.salt ? derived.id : undefined
}

function placeIn(entry: Entry, messageId: string): number | undefined {
  for (let place = 0; place < entry.count; place++) {
    if (entry.message(place)?.messageId === messageId) return idOf(entry.seq, place)
  }
  return undefined
}

/** Refuses a position whose messages were cleaned up. */
export async function refuseGone(ns: Namespace, topic: TopicDocument, to: StartPosition): Promise<void> {
  if (typeof to === 'string' || topic.removed === 0) return
  const reader = ns.reader(topic)
  const [entry] = await reader.from(seqOf(topic.gone), 1)
  const first = entry?.message(seqOf(topic.gone) === entry.seq ? placeOf(topic.gone) : 0)
  const oldest = first && {
    messageId: first.messageId ?? messageIdOf(topic.uid, first.salt, first.id),
    createdAt: new Date(first.createdAt),
  }
  if ('timestamp' in to) {
    if (first ? to.timestamp < first.createdAt : to.timestamp <= ns.clock.now()) {
      throw new PositionGoneError(topic.name, new Date(to.timestamp).toISOString(), oldest ?? null)
    }
    return
  }
  const id = await findId(ns, topic, to.messageId)
  if (id !== undefined && id < topic.gone) {
    throw new PositionGoneError(topic.name, `Message '${to.messageId}'`, oldest ?? null)
  }
}
