import { ConfigError, PayloadError, PayloadTooLargeError } from '../errors.ts'
import { Options } from '../options.ts'
import type { OutgoingMessage, TopicRecord } from '../stores/store.ts'
import type { Codec } from './codec.ts'

export type MessageOptions = {
  /** Messages of one key meet the same member of a group. */
  key?: string
  headers?: Readonly<Record<string, string>>
  /** Publishing the same id again within the topic's dedupeWindow stores nothing. */
  messageId?: string
}

export type PublishOptions = MessageOptions & {
  /** Your own open transaction: the message is published if and only if it commits. */
  tx?: unknown
}

const LONGEST_TEXT = 1_024

/** Everything checked, nothing stored: the edge between a caller's values and a row. */
export function toOutgoing(
  codec: Codec,
  topic: TopicRecord,
  value: unknown,
  given: MessageOptions = {},
): OutgoingMessage {
  const { payload, type } = codec.encode(value)
  const key = given.key === undefined ? null : checkText('key', given.key)
  const messageId = given.messageId === undefined ? null : checkText('messageId', given.messageId)
  const headers = given.headers === undefined ? null : encodeHeaders(given.headers)
  const bytes = byteLength(payload) + byteLength(key ?? '') + byteLength(headers ?? '')
  if (bytes > topic.config.maxMessageBytes)
    throw new PayloadTooLargeError(topic.name, bytes, topic.config.maxMessageBytes)
  return { payload, type, key, headers, messageId }
}

export function checkPublishOptions(what: string, values: unknown): PublishOptions {
  const options = new Options(what, values)
  for (const name of ['key', 'headers', 'messageId', 'tx']) options.value(name)
  options.done()
  return (values ?? {}) as PublishOptions
}

/** Text that every engine can store: PostgreSQL has no place for NUL, and UTF-8 none for half a surrogate pair. */
function checkText(name: string, value: unknown): string {
  const fits = typeof value === 'string' && value !== '' && value.length <= LONGEST_TEXT
  if (fits && !value.includes('\0') && value.isWellFormed()) return value
  throw new ConfigError(
    `publish.${name}`,
    value,
    `a text of 1 to ${LONGEST_TEXT} characters, well-formed and without NUL`,
  )
}

function encodeHeaders(headers: Readonly<Record<string, string>>): string | null {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw new PayloadError("Headers must be an object of texts, such as { 'trace-id': '42' }")
  }
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string') throw new PayloadError(`Header '${name}' is ${typeof value}; headers are texts`)
  }
  return Object.keys(headers).length === 0 ? null : JSON.stringify(headers)
}

/** UTF-8 bytes. Short texts are measured by their length first: most are far below any limit. */
const byteLength = (value: string | Uint8Array): number =>
  typeof value === 'string' ? Buffer.byteLength(value) : value.byteLength
