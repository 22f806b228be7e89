import { ConfigError, MessageNotFoundError, TopicConflictError } from '../errors.ts'
import type { Duration } from '../options/duration.ts'
import { Options } from '../options/options.ts'
import { messageIdOf } from '../payload/message-id.ts'
import type { Runtime } from '../runtime.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import type { Tracking } from '../topic-config.ts'
import { findTopic } from './find-records.ts'

/** Which groups must process a message, and which have. */
export type Completion = {
  /** Position of the message in the log. */
  readonly id: number
  /** Unique id of the message. */
  readonly messageId: string
  /** Groups that must process the message. */
  readonly required: readonly string[]
  /** Groups that have processed the message. */
  readonly completed: readonly string[]
}

/** Options of `completion`. */
export type CompletionOptions = {
  /** Only this message. */
  messageId?: string
  /** Id of the last message of the previous page. */
  after?: number
  /** Only messages that some group has not processed. */
  unfinished?: boolean
  /** Maximum number of messages (default 100). */
  limit?: number
}

/** Bitmaps filled per transaction. */
const FILL_PAGE = 10_000

/**
 * Switches while groups run. Resolves when retained messages have their bitmaps; if the process is killed before that,
 * the backfills job continues.
 */
export async function setTracking(
  runtime: Runtime,
  name: string,
  tracking: Tracking,
  given?: { onProgress?: (progress: { readonly pages: number }) => void },
): Promise<void> {
  if (tracking !== 'offset' && tracking !== 'reference') {
    throw new ConfigError('setTracking.tracking', tracking, "'offset' or 'reference'")
  }
  const options = new Options('setTracking', given)
  const onProgress = options.function<(progress: { readonly pages: number }) => void>('onProgress')
  options.done()
  const switched = await runtime.store.tracking.switch(await findTopic(runtime, name), tracking)
  runtime.topics.forget(name)
  for (let pages = 1; await runtime.store.tracking.fill(switched, FILL_PAGE); pages++) {
    runtime.instrumentation.guard('onProgress of setTracking', () => onProgress?.({ pages }))
  }
}

export async function completion(runtime: Runtime, name: string, given?: CompletionOptions): Promise<Completion[]> {
  const options = new Options('completion', given)
  const messageId = options.string('messageId', undefined)
  const after = options.integer('after', 0, { min: 0, max: Number.MAX_SAFE_INTEGER })
  const unfinished = options.boolean('unfinished', false)
  const limit = options.integer('limit', 100, { min: 1, max: 1_000 })
  options.done()
  const topic = await findReferenceTopic(runtime, name)
  const id = messageId === undefined ? undefined : await runtime.store.log.find(topic, messageId)
  if (messageId !== undefined && id === undefined) throw new MessageNotFoundError(name, messageId)
  const query = { after, limit, unfinished, ...(id !== undefined && { id }) }
  const found = await runtime.store.tracking.completion(topic, query)
  return found.map(({ salt, ...each }) => ({
    ...each,
    messageId: each.messageId ?? messageIdOf(topic.uid, salt, each.id),
  }))
}

/** Completes messages older than this that wait only for groups that are no longer live. */
export async function completeOrphans(runtime: Runtime, name: string, given: { olderThan: Duration }): Promise<number> {
  const options = new Options('completeOrphans', given)
  const olderThanMs = options.duration('olderThan', undefined)
  options.done()
  if (olderThanMs === undefined) throw new ConfigError('completeOrphans.olderThan', undefined, "a duration, '24h'")
  return await runtime.store.tracking.completeOrphans(await findReferenceTopic(runtime, name), olderThanMs)
}

async function findReferenceTopic(runtime: Runtime, name: string): Promise<TopicRecord> {
  const topic = await findTopic(runtime, name)
  if (topic.config.tracking === 'reference') return topic
  throw new TopicConflictError(
    name,
    `Topic '${name}' is tracked by offset, which does not record single messages: groups('${name}') shows how far each ` +
      `group is. To know who has processed what, switch with setTracking('${name}', 'reference')`,
  )
}
