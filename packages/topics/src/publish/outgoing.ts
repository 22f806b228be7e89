import { reasonOf, toError } from '../errors/failure.ts'
import { BatchTooLargeError, ConfigError, PayloadError, PayloadTooLargeError } from '../errors.ts'
import { Options } from '../options/options.ts'
import { isStorable, STORABLE_TEXT } from '../options/storable.ts'
import type { Codec } from '../payload/codec.ts'
import type { OutgoingMessage } from '../stores/log.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import type { TransactionHandle } from './transaction-handle.ts'

/** Options of a message. */
export type MessageOptions = {
  /** Key of the message. Within a process, messages with the same key go to the same consumer of a group. */
  key?: string
  /** Headers of the message. */
  headers?: Readonly<Record<string, string>>
  /** Id for deduplication. A second publish with the same id within the `dedupeWindow` of the topic is not stored. */
  messageId?: string
}

/** Options of `publish`. */
export type PublishOptions = MessageOptions & {
  /** Your own open transaction. The message is published if and only if it commits. */
  tx?: TransactionHandle
}

/** Options of `publishSync`. */
export type SyncPublishOptions = MessageOptions & {
  /** Your own open transaction on SQLite. The message is published if and only if it commits. */
  tx: TransactionHandle
}

/** The row of a message, created when publish is called: later changes by the caller don't affect it. */
export function toOutgoing(codec: Codec, value: unknown, given: MessageOptions = {}): OutgoingMessage {
  const { payload, type } = codec.encode(value)
  return {
    payload,
    type,
    key: given.key === undefined ? null : checkText('key', given.key),
    headers: given.headers === undefined ? null : encodeHeaders(given.headers),
    messageId: given.messageId === undefined ? null : checkText('messageId', given.messageId),
  }
}

/**
 * 256 MiB. PostgreSQL accepts at most a gigabyte in one statement and closes the connection beyond that; inside a
 * caller's transaction the batch is one base64 text, and a string in Node is limited to half of that.
 */
const MOST_BATCH_BYTES = 256 * 1024 ** 2
/** Overhead of a message beside its bytes. */
const MESSAGE_BYTES = 64

/** The rows of one transaction. Excess is noticed before everything has been encoded. */
export function toBatch<T>(
  topic: string,
  given: readonly T[],
  encode: (each: T) => OutgoingMessage,
): readonly OutgoingMessage[] {
  const batch: OutgoingMessage[] = []
  let bytes = 0
  let isExact = false
  for (const each of given) {
    const message = encode(each)
    batch.push(message)
    bytes += isExact ? bytesOf(message) : mostBytesOf(message)
    if (bytes <= MOST_BATCH_BYTES) continue
    // Texts are measured only if it may matter.
    if (!isExact) bytes = batch.reduce((sum, one) => sum + bytesOf(one), 0)
    isExact = true
    if (bytes > MOST_BATCH_BYTES) throw new BatchTooLargeError(topic, given.length, MOST_BATCH_BYTES)
  }
  return batch
}

/** Only a payload, as nearly every message: stores skip the rest. */
export const isPlain = ({ key, type, headers, messageId }: OutgoingMessage): boolean =>
  key === null && type === null && headers === null && messageId === null

export function checkSize(topic: TopicRecord, message: OutgoingMessage): void {
  const limit = topic.config.maxMessageBytes
  if (mostBytesOf(message) <= limit) return
  const bytes = bytesOf(message) - MESSAGE_BYTES
  if (bytes > limit) throw new PayloadTooLargeError(topic.name, bytes, limit)
}

export function checkPublishOptions(what: string, values: unknown): PublishOptions {
  refuseOthers(what, values, ['key', 'headers', 'messageId', 'tx'])
  return (values ?? {}) as PublishOptions
}

/** The same for one of several messages, which share a transaction. */
export function checkMessageOptions(what: string, values: unknown): MessageOptions {
  refuseOthers(what, values, ['key', 'headers', 'messageId'])
  return (values ?? {}) as MessageOptions
}

function refuseOthers(what: string, values: unknown, names: readonly string[]): void {
  const options = new Options(what, values)
  for (const name of names) options.value(name)
  options.done()
}

function checkText(name: string, value: unknown): string {
  if (typeof value === 'string' && isStorable(value)) return value
  throw new ConfigError(`publish.${name}`, value, STORABLE_TEXT)
}

function encodeHeaders(headers: Readonly<Record<string, string>>): string | null {
  if (typeof headers !== 'object' || headers === null) throw notHeaders()
  const entries = entriesOf(headers)
  for (const [name, value] of entries) {
    if (typeof value !== 'string') throw new PayloadError(`Header '${name}' is ${typeof value}; headers are texts`)
  }
  return entries.length === 0 ? null : JSON.stringify(Object.fromEntries(entries))
}

/** Read once: a getter may throw, or return something else the next time. */
function entriesOf(headers: object): [name: string, value: unknown][] {
  try {
    // An array, a Map, the Headers of fetch: they have no properties, and all of their headers would be lost.
    if (!(Symbol.iterator in headers)) return Object.entries(headers)
  } catch (error) {
    throw new PayloadError(`The headers can't be read: ${reasonOf(error)}`, toError(error))
  }
  throw notHeaders()
}

const notHeaders = (): PayloadError =>
  new PayloadError("Headers must be an object of texts, such as { 'trace-id': '42' }")

const bytesOf = ({ payload, key, headers }: OutgoingMessage): number =>
  MESSAGE_BYTES + byteLength(payload) + byteLength(key ?? '') + byteLength(headers ?? '')

/** A UTF-16 unit takes at most three bytes, so few messages have to be measured. */
const mostBytesOf = ({ payload, key, headers }: OutgoingMessage): number =>
  MESSAGE_BYTES + 3 * (payload.length + (key?.length ?? 0) + (headers?.length ?? 0))

const byteLength = (value: string | Uint8Array): number =>
  typeof value === 'string' ? Buffer.byteLength(value) : value.byteLength
