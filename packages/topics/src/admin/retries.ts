import type { Engine } from '../consume/engine.ts'
import { ConfigError } from '../errors.ts'
import { messageIdIn } from '../message-id.ts'
import { Options } from '../options.ts'
import type { FailedAttempt, FailureRecord } from '../stores/failure-record.ts'
import type { RetryRecord } from '../stores/leases.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import type { ByteOptions } from './byte-options.ts'
import { findGroup, findTopic } from './scope.ts'

/** A message that waits to be delivered to a group again. */
export type WaitingRetry = {
  /** The message's; `after` takes it for the next page. */
  readonly id: number
  /** '' where it is gone from the log. */
  readonly messageId: string
  readonly key: string | null
  /** 'json', 'bytes', or a protobuf type URL. */
  readonly type: string
  /** When it was published; null where it is gone from the log, and will be dropped. */
  readonly createdAt: Date | null
  readonly attempts: number
  readonly dueAt: Date
  /** Of its last failed attempt; null where none has failed: it was given back, or a backfill brings it. */
  readonly error: FailureRecord | null
  /** Every failed attempt, oldest first. */
  readonly history: readonly FailedAttempt[]
  /** Its last lease ran out: it may be what killed its process. */
  readonly suspect: boolean
}

export type RetryPage = {
  readonly retries: readonly WaitingRetry[]
  /** Give it as `after` for the next page; null: there is no more. */
  readonly next: number | null
}

export type RetryOptions = {
  /** Needed in a pub-sub topic. */
  group?: string
  after?: number
  limit?: number
}

/** By message id, a page at a time. What is being tried again just now is in flight, and not among them. */
export async function retries(engine: Engine, name: string, given?: RetryOptions): Promise<WaitingRetry[]> {
  return [...(await readPage(engine, name, new Options('retries', given), undefined)).retries]
}

/** The same with a bound in bytes. */
export async function retryPage(
  engine: Engine,
  name: string,
  given?: RetryOptions & Pick<ByteOptions, 'maxBytes'>,
): Promise<RetryPage> {
  const options = new Options('retryPage', given)
  const maxBytes = options.integer('maxBytes', undefined, { min: 1, max: Number.MAX_SAFE_INTEGER })
  return await readPage(engine, name, options, maxBytes)
}

async function readPage(
  engine: Engine,
  name: string,
  options: Options,
  maxBytes: number | undefined,
): Promise<RetryPage> {
  const group = options.string('group', undefined)
  const after = options.integer('after', 0, { min: 0, max: Number.MAX_SAFE_INTEGER })
  const limit = options.integer('limit', 100, { min: 1, max: 1_000 })
  options.done()
  if (group === undefined && (await findTopic(engine, name)).config.semantics === 'pub-sub') {
    throw new ConfigError('retries.group', group, `the name of a group of topic '${name}', which is pub-sub`)
  }
  const { topic, subscription } = await findGroup(engine, name, group ?? '')
  const bounds = maxBytes === undefined ? {} : { maxBytes }
  const records = await engine.store.leases.retries(topic, subscription, { after, limit, ...bounds })
  const last = records.at(-1)?.id
  // A short page is the last one, unless bytes have ended it: then one more look says.
  const isCut = async (): Promise<boolean> =>
    maxBytes !== undefined &&
    last !== undefined &&
    (await engine.store.leases.retries(topic, subscription, { after: last, limit: 1 })).length > 0
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
