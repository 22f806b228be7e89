import { messageIdOf } from '../payload/message-id.ts'
import type { RawMessage } from '../payload/raw-message.ts'
import type { TopicRecord } from '../stores/topic-record.ts'

/** A payload as stored: JSON text, or bytes. */
export type StoredPayload = string | Uint8Array

/** A message as stored in the log. */
export type StoredMessage<Payload = StoredPayload> = {
  /** Name of the topic. */
  readonly topic: string
  /** Position of the message in the log. */
  readonly id: number
  /** Unique id of the message. */
  readonly messageId: string
  /** Key of the message, or null. */
  readonly key: string | null
  /** Payload type: `'json'`, `'bytes'`, or a protobuf type URL. */
  readonly type: string
  /** Headers of the message. */
  readonly headers: Readonly<Record<string, string>>
  /** Payload. In `tm.admin` as stored, so that it can be shown even if it can't be decoded. */
  readonly payload: Payload
  /** Time of the publish. */
  readonly createdAt: Date
  /** Size of a message above `maxPayloadBytes`, whose payload (here empty) and headers were omitted. */
  readonly omittedBytes?: number
}

export const toStoredMessage = (topic: TopicRecord, message: RawMessage): StoredMessage => ({
  topic: topic.name,
  id: message.id,
  messageId: message.messageId ?? messageIdOf(topic.uid, message.salt, message.id),
  key: message.key,
  type: message.type ?? 'json',
  headers: message.headers === null ? {} : JSON.parse(message.headers),
  payload: message.payload,
  createdAt: new Date(message.createdAt),
  ...(message.omittedBytes !== undefined && { omittedBytes: message.omittedBytes }),
})

/** The public name of a stored type: JSON has none in the log. */
export const storedType = (type: string | undefined): string | null | undefined => (type === 'json' ? null : type)
