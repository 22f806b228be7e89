import { findTopic } from '../../admin/find-records.ts'
import { ConfigError, StaleDeliveryError } from '../../errors.ts'
import { type Duration, parseDuration } from '../../options/duration.ts'
import { Options } from '../../options/options.ts'
import { messageIdOf } from '../../payload/message-id.ts'
import type { RawMessage } from '../../payload/raw-message.ts'
import type { Runtime } from '../../runtime.ts'
import type { SubscriptionRecord } from '../../stores/subscription-record.ts'
import type { TopicRecord } from '../../stores/topic-record.ts'
import { LeasedDelivery } from '../delivery.ts'
import { HeldLease } from '../held-lease.ts'
import { decodeReceipt, type Receipt } from './receipt.ts'

/** A rejected message of a settlement. */
export type PullNack = {
  /** Id of the message. */
  readonly id: number
  /** What went wrong: an `Error`, or a text. */
  readonly error?: unknown
  /** Delay before the redelivery (default: the backoff of the topic). */
  readonly delay?: Duration
}

/** Acknowledged, rejected and released messages of a receipt. */
export type PullSettlement = {
  /** Ids of acknowledged messages; `'all'`: all messages of the receipt except those in `nacks`. */
  readonly acks?: 'all' | readonly number[]
  /** Rejected messages. */
  readonly nacks?: readonly PullNack[]
  /** Ids of messages to release without counting an attempt, as if they had not been claimed. */
  readonly releases?: 'all' | readonly number[]
}

/**
 * Repeating a settlement is harmless. Rejects with StaleDeliveryError if the lease was lost; nothing is changed then.
 */
export async function settle(runtime: Runtime, key: Uint8Array, text: string, given: PullSettlement): Promise<void> {
  const receipt = decodeReceipt(text, key)
  const options = new Options('settle', given)
  const nacks = parseNacks(receipt, options.value('nacks') ?? [])
  const acks = parseIds('settle.acks', receipt, options.value('acks') ?? [], nacks)
  const releases = parseIds('settle.releases', receipt, options.value('releases') ?? [], nacks)
  options.done()
  refuseTwice([...acks, ...nacks.map(({ id }) => id), ...releases])
  const held = await heldLease(runtime, receipt)
  const settling = [
    ...acks.map(id => deliveryOf(runtime, held, receipt, id).ack()),
    ...nacks.map(({ id, error, delay }) =>
      deliveryOf(runtime, held, receipt, id).nack(error, delay === undefined ? undefined : { delay }),
    ),
  ]
  const releasing = releases.map(id => deliveryOf(runtime, held, receipt, id).released())
  const settled = await Promise.allSettled(settling)
  const released = await Promise.allSettled(releasing)
  count(
    runtime,
    receipt,
    settled.map(each => each.status === 'fulfilled'),
    acks.length,
  )
  const refused = [...settled, ...released].find(each => each.status === 'rejected')
  if (refused !== undefined) throw refused.reason
}

/** For the consumer's figures, if it pulls from this process. The first `acked` are acks. */
function count(runtime: Runtime, receipt: Receipt, accepted: readonly boolean[], acked: number): void {
  const { topic, group, consumer, pulledAt } = receipt
  const meter = runtime.instrumentation.metrics.group(topic, group)?.consumers.get(consumer)
  const ms = Math.max(0, Date.now() - pulledAt)
  for (const [place, isAccepted] of accepted.entries()) if (isAccepted) meter?.settled(place >= acked, ms)
}

/**
 * Extends the lease of the receipt's messages to `duration` from now (default: the topic's lease); resolves with it. 0:
 * never expires.
 */
export async function extend(
  runtime: Runtime,
  key: Uint8Array,
  text: string,
  duration: Duration | undefined,
): Promise<ExtendedReceipt> {
  const receipt = decodeReceipt(text, key)
  const held = await heldLease(runtime, receipt)
  const [id = 0] = receipt.ids
  const leaseMs = duration === undefined ? held.termMs : parseDuration('extend', duration, { min: 1 })
  await deliveryOf(runtime, held, receipt, id).extend(duration)
  return { subscriptionUid: receipt.subscriptionUid, leaseMs }
}

export type ExtendedReceipt = { readonly subscriptionUid: number; readonly leaseMs: number }

/** The lease as the claiming process would have it, so that both settle in the same way. */
async function heldLease(runtime: Runtime, receipt: Receipt): Promise<HeldLease> {
  const found = runtime.topics.cached(receipt.topic) ?? (await findTopic(runtime, receipt.topic))
  // If the topic was recreated meanwhile, the token is unknown, and the result for its messages is still right.
  const topic = { ...found, uid: receipt.topicUid }
  await requireLease(runtime, receipt)
  const { token, size, slots, versions, attempts } = receipt
  const lease = { token, size, slots, versions, attempts, messages: messagesOf(receipt), suspects: 'none' } as const
  const term = { claimedAt: performance.now(), termMs: topic.config.leaseMs, isClaimed: false }
  return new HeldLease(lease, topic, subscriptionOf(topic, receipt), { forget: () => undefined }, term)
}

/** Checked before the receipt is processed: most stale ones are of leases that the database has forgotten. */
async function requireLease(runtime: Runtime, receipt: Receipt): Promise<void> {
  const { topic, topicUid, group, token, size, ids, salts, messageIds, versions } = receipt
  if ((await runtime.store.leases.size(token)) === size) return
  const messageId = messageIds?.[0] ?? messageIdOf(topicUid, salts[0] ?? 0, ids[0] ?? 0)
  const version = versions?.[0] ?? 1
  runtime.instrumentation.emit('stale', { topic, group, messageId, version, count: ids.length })
  throw new StaleDeliveryError(topic, group, messageId, version)
}

const messagesOf = ({ ids, salts, messageIds }: Receipt): RawMessage[] =>
  ids.map((id, index) => ({
    id,
    salt: salts[index] ?? 0,
    messageId: messageIds?.[index] ?? null,
    ...{ payload: '', type: null, key: null, headers: null, createdAt: 0 },
  }))

/** The subscription that a settlement belongs to. */
const subscriptionOf = (
  topic: TopicRecord,
  { subscriptionId, subscriptionUid, group }: Receipt,
): SubscriptionRecord => ({
  id: subscriptionId,
  uid: subscriptionUid,
  topicId: topic.id,
  group,
  status: 'ACTIVE',
  epoch: 0,
  heartbeat: { intervalMs: 0, timeoutMs: 0, deadAfterMisses: 0 },
  created: false,
  skipped: 0,
  resurrected: null,
})

function deliveryOf(runtime: Runtime, held: HeldLease, { ids }: Receipt, id: number): LeasedDelivery {
  const index = ids.indexOf(id)
  return new LeasedDelivery(runtime, held, index, held.lease.messages[index] as RawMessage, undefined)
}

function parseIds(option: string, receipt: Receipt, value: unknown, nacks: readonly PullNack[]): readonly number[] {
  if (value === 'all') {
    const nacked = new Set(nacks.map(({ id }) => id))
    return receipt.ids.filter(id => !nacked.has(id))
  }
  if (!Array.isArray(value)) throw new ConfigError(option, value, "'all' or an array of ids of messages")
  for (const id of value) requireKnown(option, receipt, id)
  return value
}

function parseNacks(receipt: Receipt, value: unknown): readonly PullNack[] {
  if (!Array.isArray(value)) throw new ConfigError('settle.nacks', value, 'an array of { id, error, delay }')
  return value.map(each => {
    const options = new Options('settle.nacks', each)
    const id = options.value('id')
    const error = options.value('error')
    const delay = options.duration('delay', undefined)
    options.done()
    requireKnown('settle.nacks.id', receipt, id)
    return { id: id as number, error, ...(delay !== undefined && { delay }) }
  })
}

function requireKnown(option: string, { ids }: Receipt, id: unknown): void {
  if (!ids.includes(id as number)) throw new ConfigError(option, id, 'ids of messages of this receipt')
}

function refuseTwice(ids: readonly number[]): void {
  const seen = new Set<number>()
  const twice = ids.find(id => seen.size === seen.add(id).size)
  if (twice !== undefined) throw new ConfigError('settle', twice, 'each message once: acked, nacked or released')
}
