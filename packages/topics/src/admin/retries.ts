import { ConfigError } from '../errors.ts'
import { Options } from '../options/options.ts'
import { messageIdIn } from '../payload/message-id.ts'
import type { Runtime } from '../runtime.ts'
import type { FailedAttempt, FailureRecord } from '../stores/failure-record.ts'
import type { RetryRecord } from '../stores/leases.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import type { ByteOptions } from './byte-options.ts'
import { findGroup, findTopic } from './find-records.ts'

/** A message that waits for redelivery to a group. */
export type WaitingRetry = {
  /** Id of the message, also for `after` of the next page. */
  readonly id: number
  /** Unique id of the message; empty if it is no longer in the log. */
  readonly messageId: string
  /** Key of the message, or null. */
  readonly key: string | null
  /** Payload type: `'json'`, `'bytes'`, or a protobuf type URL. */
  readonly type: string
  /** Time of the publish; null if the message is no longer in the log and will be dropped. */
  readonly createdAt: Date | null
  /** Number of attempts so far. */
  readonly attempts: number
  /** Time of the next attempt. */
  readonly dueAt: Date
  /** Error of the last failed attempt; null if none has failed (released, or part of a backfill). */
  readonly error: FailureRecord | null
  /** Failed attempts, oldest first. */
  readonly history: readonly FailedAttempt[]
  /** Whether its last lease expired, which suggests that it crashed its consumer. */
  readonly suspect: boolean
}

/** A page of messages that wait for redelivery. */
export type RetryPage = {
  /** Messages of the page. */
  readonly retries: readonly WaitingRetry[]
  /** Value of `after` for the next page; null on the last page. */
  readonly next: number | null
}

/** Options of `retries`. */
export type RetryOptions = {
  /** Name of the group. Required for a pub-sub topic. */
  group?: string
  /** Id of the last message of the previous page. */
  after?: number
  /** Maximum number of messages (default 100). */
  limit?: number
}

/** Retries by message id, one page at a time. Messages being retried right now are in flight, and not included. */
export async function retries(runtime: Runtime, name: string, given?: RetryOptions): Promise<WaitingRetry[]> {
  return [...(await readPage(runtime, name, new Options('retries', given), undefined)).retries]
}

/** The same with a limit in bytes. */
export async function retryPage(
  runtime: Runtime,
  name: string,
  given?: RetryOptions & Pick<ByteOptions, 'maxBytes'>,
): Promise<RetryPage> {
  const options = new Options('retryPage', given)
  const maxBytes = options.integer('maxBytes', undefined, { min: 1, max: Number.MAX_SAFE_INTEGER })
  return await readPage(runtime, name, options, maxBytes)
}

async function readPage(
  runtime: Runtime,
  name: string,
  options: Options,
  maxBytes: number | undefined,
): Promise<RetryPage> {
  const group = options.groupName('group')
  const after = options.integer('after', 0, { min: 0, max: Number.MAX_SAFE_INTEGER })
  const limit = options.integer('limit', 100, { min: 1, max: 1_000 })
  options.done()
  if (group === undefined && (await findTopic(runtime, name)).config.semantics === 'pub-sub') {
    throw new ConfigError('retries.group', group, `the name of a group of topic '${name}', which is pub-sub`)
  }
  const { topic, subscription } = await findGroup(runtime, name, group ?? '')
  const bounds = maxBytes === undefined ? {} : { maxBytes }
  const records = await runtime.store.leases.retries(topic, subscription, { after, limit, ...bounds })
  const last = records.at(-1)?.id
  // A short page is the last one, unless the byte limit ended it: then one more read tells.
  const isCut = async (): Promise<boolean> =>
    maxBytes !== undefined &&
    last !== undefined &&
    (await runtime.store.leases.retries(topic, subscription, { after: last, limit: 1 })).length > 0
  const isMore = records.length === limit || (await isCut())
  return { retries: records.map(record => toRetry(topic, record)), next: isMore ? (last ?? null) : null }
}

function toRetry(topic: TopicRecord, record: RetryRecord): WaitingRetry {
  const { id, key, type, createdAt, attempts, dueAt, history, suspect } = record
  const last = history.at(-1)
  return {
    id,
    messageId: messageIdIn(topic, record),
    key,
    type: type ?? 'json',
    createdAt: createdAt === null ? null : new Date(createdAt),
    attempts,
    dueAt: new Date(dueAt),
    error: last === undefined ? null : { name: last.name, message: last.message },
    history,
    suspect,
  }
}
