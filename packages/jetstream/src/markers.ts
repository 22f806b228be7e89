import { createHash } from 'node:crypto'
import { idOf } from './entry.ts'
import type { Namespace } from './namespace.ts'
import { topicKey } from './nats/names.ts'
import type { TopicDocument } from './topic-document.ts'

/**
 * A marker remembers a messageId that the publisher gave. It is stored in the same batch as the entry, some places before
 * it, and disappears with the dedupe window.
 */
export type Marker = {
  readonly seq: number
  readonly at: number
  /** Id of the message. */
  readonly id: number
}

type Value = { readonly distance: number; readonly place: number }

export const markerHash = (messageId: string): string =>
  createHash('sha256').update(messageId).digest('base64url').slice(0, 27)

export const markerData = (value: Value): Uint8Array => Buffer.from(JSON.stringify([value.distance, value.place]))

export async function readMarker(
  ns: Namespace,
  topic: Pick<TopicDocument, 'id' | 'uid'>,
  hash: string,
): Promise<Marker | null> {
  const key = topicKey(topic)
  const stored = await ns.client.last(ns.names.logStream(key), ns.names.marker(key, hash))
  if (stored === null || stored.data.length === 0) return null
  const [distance, place] = JSON.parse(Buffer.from(stored.data).toString()) as [number, number]
  return { seq: stored.seq, at: stored.at, id: idOf(stored.seq + distance, place) }
}
