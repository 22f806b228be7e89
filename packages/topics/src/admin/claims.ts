import { ClaimNotFoundError, ConfigError } from '../errors.ts'
import { checkName } from '../options/names.ts'
import { Options } from '../options/options.ts'
import { messageIdIn } from '../payload/message-id.ts'
import type { Runtime } from '../runtime.ts'
import type { ClaimRecord, ClaimsQuery, TakenMessage } from '../stores/leases.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { findGroup, findTopic } from './find-records.ts'

/** Options of `claims`. */
export type ClaimsOptions = {
  /** Only claims of this group. */
  group?: string
  /** Only claims of this consumer. */
  consumer?: string
  /** Value of `next` of the previous page. */
  after?: string
  /** Maximum number of claims (default 100). */
  limit?: number
  /** Maximum number of messages listed per claim (default 20). */
  messages?: number
}

/** A message of a claim. */
export type ClaimedMessage = {
  /** Position of the message in the log. */
  readonly id: number
  /** Unique id of the message. */
  readonly messageId: string
  /** Number of the attempt, starting at 1. */
  readonly attempt: number
  /** Fencing token of the claim. */
  readonly version: number
}

/** Messages that a consumer holds under one lease. */
export type Claim = {
  /** Id of the claim, for `releaseClaim`. */
  readonly id: string
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group; empty for a queue. */
  readonly group: string
  /** Id of the consumer that holds it. */
  readonly consumer: string
  /** Start of the lease. */
  readonly claimedAt: Date
  /** Expiry of the lease; null if it never expires. */
  readonly expiresAt: Date | null
  /** Number of messages when they were claimed. */
  readonly size: number
  /** Number of unsettled messages. */
  readonly unsettled: number
  /** Lowest id of the unsettled messages. */
  readonly firstId: number | null
  /** Highest id of the unsettled messages. */
  readonly lastId: number | null
  /** First unsettled messages. */
  readonly messages: readonly ClaimedMessage[]
}

/** A page of claims. */
export type ClaimsPage = {
  /** Claims of the page. */
  readonly claims: readonly Claim[]
  /** Value of `after` for the next page; null on the last page. */
  readonly next: string | null
}

/** Result of `releaseClaim`. */
export type ReleasedClaim = {
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group; empty for a queue. */
  readonly group: string
  /** Consumer that held the claim. */
  readonly consumer: string
  /** Number of messages to be redelivered. */
  readonly released: number
  /** Number of messages without attempts left, which were dead-lettered. */
  readonly deadLettered: number
}

const TOKEN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const PLACE = /^(\d{1,20})\.(.*)$/

/** Claims, longest held first. Reads leases and retries, and from the log only the messages it names. */
export async function claims(runtime: Runtime, name: string, given?: ClaimsOptions): Promise<ClaimsPage> {
  const options = new Options('claims', given)
  const group = options.groupName('group')
  const consumer = options.value('consumer')
  const after = parseCursor(options.string('after', undefined))
  const limit = options.integer('limit', 100, { min: 1, max: 1_000 })
  const named = options.integer('messages', 20, { min: 0, max: 1_000 })
  options.done()
  const topic = await findTopic(runtime, name)
  const query: ClaimsQuery = {
    ...(group !== undefined && { subscriptionId: (await findGroup(runtime, name, group)).subscription.id }),
    ...(consumer !== undefined && { consumer: checkConsumer(consumer) }),
    ...(after !== undefined && { after }),
    // One more, to find out whether there is another page.
    limit: limit + 1,
    named,
  }
  const found = await runtime.store.leases.list(topic, query)
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return {
    claims: page.map(each => toClaim(topic, each)),
    next: found.length > limit && last !== undefined ? `${last.place}.${last.token}` : null,
  }
}

/**
 * Releases a claim at once, even one that never expires. Its messages are redelivered as if the lease had expired: the
 * attempt counts, and messages out of attempts become dead letters. Settlements of its holder are stale from now on.
 */
export async function releaseClaim(runtime: Runtime, name: string, id: string): Promise<ReleasedClaim> {
  if (typeof id !== 'string' || !TOKEN.test(id)) throw new ConfigError('releaseClaim.id', id, 'the id of a claim')
  const topic = await findTopic(runtime, name)
  const released = await runtime.store.leases.release(topic, id.toLowerCase())
  if (released === undefined) throw new ClaimNotFoundError(name, id)
  const { group, consumer, count, deadLettered, messages } = released
  runtime.isolation.settled(released.token)
  const where = { topic: name, group }
  const named = messages.map(message => toNamed(topic, message))
  runtime.instrumentation.emit('claim-released', { ...where, consumer, count, messages: named })
  if (deadLettered > 0) runtime.instrumentation.emit('dead-lettered', { ...where, count: deadLettered })
  runtime.wakeHub.wake(topic.id)
  runtime.store.hint(topic.id)
  return { ...where, consumer, released: count, deadLettered }
}

/** A group's consumers share a claim: their names are joined by commas. */
function checkConsumer(value: unknown): string {
  if (typeof value !== 'string' || value === '')
    throw new ConfigError('claims.consumer', value, 'the name of a consumer')
  for (const each of value.split(',')) checkName('consumer', each)
  return value
}

function parseCursor(after: string | undefined): ClaimsQuery['after'] {
  if (after === undefined) return undefined
  const [, place = '', token = ''] = PLACE.exec(after) ?? []
  if (!TOKEN.test(token)) throw new ConfigError('claims.after', after, 'the `next` of an earlier page')
  return { place, token }
}

const toClaim = (topic: TopicRecord, { token, claimedAt, deadline, place: _, ...claim }: ClaimRecord): Claim => ({
  ...claim,
  id: token,
  topic: topic.name,
  claimedAt: new Date(claimedAt),
  expiresAt: deadline === null ? null : new Date(deadline),
  messages: claim.messages.map(message => toNamed(topic, message)),
})

function toNamed<T extends TakenMessage>(topic: TopicRecord, message: T): Omit<T, 'salt'> & { messageId: string } {
  const { salt: _, ...rest } = message
  return { ...rest, messageId: messageIdIn(topic, message) }
}
