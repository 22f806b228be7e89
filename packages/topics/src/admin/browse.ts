import { ConfigError, MessageNotFoundError } from '../errors.ts'
import { Options } from '../options/options.ts'
import { isStorable } from '../options/storable.ts'
import { parseMessageId } from '../payload/message-id.ts'
import type { Runtime } from '../runtime.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { type ByteOptions, readBounds } from './byte-options.ts'
import { findTopic } from './find-records.ts'
import { type StoredMessage, storedType, toStoredMessage } from './stored-message.ts'
import { readTime } from './time.ts'

/** Options of `browse`. */
export type BrowseOptions = {
  /** Message after which the page starts: an id or a messageId. */
  after?: number | string
  /** Message before which the page ends: an id or a messageId. */
  before?: number | string
  /** Only messages published at this time or later. */
  since?: Date | number
  /** Only messages published before this time. */
  until?: Date | number
  /** Only messages with this key. */
  key?: string
  /** Only messages with this payload type: `'json'`, `'bytes'`, or a protobuf type URL. */
  type?: string
  /** Order of the page (default oldest first). */
  order?: 'oldest-first' | 'newest-first'
  /** Maximum number of messages (default 100). */
  limit?: number
  /** Ends the search when aborted. */
  signal?: AbortSignal
} & ByteOptions

/** A page of messages. */
export type BrowsedPage = {
  /** Messages of the page. */
  readonly messages: readonly StoredMessage[]
  /**
   * Value of `after` (or of `before` with `newest-first`) for the next page; null on the last page. A page may be
   * short or empty and still have a next one: a call examines at most 100 000 messages, and stops at `maxBytes`.
   */
  readonly next: number | null
  /** Ids that this call examined; null if there was nothing to examine. */
  readonly examined: {
    /** Lowest id. */
    readonly first: number
    /** Highest id. */
    readonly last: number
  } | null
}

export async function browse(runtime: Runtime, name: string, given?: BrowseOptions): Promise<BrowsedPage> {
  const options = new Options('browse', given)
  const since = readTime(options, 'browse', 'since')
  const until = readTime(options, 'browse', 'until')
  const key = options.string('key', undefined)
  const type = storedType(options.string('type', undefined))
  const order = options.oneOf('order', ['oldest-first', 'newest-first'], 'oldest-first')
  const limit = options.integer('limit', 100, { min: 1, max: 1_000 })
  const bounds = readBounds(options)
  const signal = options.object<AbortSignal>('signal', value => value instanceof AbortSignal, 'an AbortSignal')
  const places = { after: options.value('after'), before: options.value('before') }
  options.done()
  const topic = await findTopic(runtime, name)
  const after = await idOfPlace(runtime, topic, 'browse.after', places.after)
  const before = await idOfPlace(runtime, topic, 'browse.before', places.before)
  const { messages, next, examined } = await runtime.store.log.browse(topic, {
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(key !== undefined && { key }),
    ...(type !== undefined && { type }),
    newestFirst: order === 'newest-first',
    limit,
    ...(signal !== undefined && { signal }),
    ...bounds,
  })
  signal?.throwIfAborted()
  return { messages: messages.map(message => toStoredMessage(topic, message)), next, examined }
}

/**
 * The id of a removed message is still a valid place, unless another message has it now; a messageId given by a
 * publisher must exist.
 */
async function idOfPlace(
  runtime: Runtime,
  topic: TopicRecord,
  option: string,
  value: unknown,
): Promise<number | undefined> {
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  if (typeof value !== 'string' || !isStorable(value)) throw new ConfigError(option, value, 'an id or a messageId')
  const found = await runtime.store.log.find(topic, value)
  if (found !== undefined) return found
  const id = parseMessageId(topic.uid, value)?.id
  if (id === undefined || (await isTaken(runtime, topic, id))) throw new MessageNotFoundError(topic.name, value)
  return id
}

async function isTaken(runtime: Runtime, topic: TopicRecord, id: number): Promise<boolean> {
  const only = { after: id - 1, before: id + 1, newestFirst: false, limit: 1, maxPayloadBytes: 0 }
  return (await runtime.store.log.browse(topic, only)).messages.length > 0
}
