import { messageIdOf } from '../message-id.ts'
import type { RawMessage } from '../raw-message.ts'
import type { TopicRecord } from '../stores/topic-record.ts'

/** A message as the log has it. */
export type StoredMessage = {
  readonly topic: string
  readonly id: number
  readonly messageId: string
  readonly key: string | null
  /** 'json', 'bytes', or a protobuf type URL. */
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  /** As it is stored: JSON text or bytes, so that what could not be decoded can still be seen. */
  readonly payload: string | Uint8Array
  readonly createdAt: Date
  /** Only where it has more bytes than `maxPayloadBytes` allows, so many: its payload (here empty) and headers were left out. */
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

/** The public name of a type as the log has it: JSON has none there. */
export const storedType = (type: string | undefined): string | null | undefined => (type === 'json' ? null : type)
