import { createHmac, timingSafeEqual } from 'node:crypto'
import { InvalidReceiptError } from '../../errors.ts'
import type { Lease } from '../../stores/leases.ts'
import type { SubscriptionRecord } from '../../stores/subscription-record.ts'
import type { TopicRecord } from '../../stores/topic-record.ts'

/**
 * Everything that a settlement needs to know about a lease, kept by the client that pulled it: no process has to
 * remember it, so any process can settle what another has claimed. It is signed with the namespace's key, so its
 * contents are ours; the random token makes it valid.
 */
export type Receipt = {
  readonly topic: string
  readonly topicUid: number
  readonly group: string
  readonly subscriptionId: number
  readonly subscriptionUid: number
  readonly token: string
  readonly size: number
  /** Ids of the lease's messages, in their order. */
  readonly ids: readonly number[]
  /** Salts of the messages, for their messageIds. */
  readonly salts: readonly number[]
  /** null: message i has slot i. */
  readonly slots: readonly number[] | null
  /** null: all are 1. */
  readonly versions: readonly number[] | null
  readonly attempts: readonly number[] | null
  /** Only messageIds given by publishers, by index. */
  readonly messageIds: readonly (string | null)[] | null
  /** Who pulled, and when, on the clock of that process: for the consumer's figures. */
  readonly consumer: string
  readonly pulledAt: number
}

/** Maximum number of messages per pull, and so of slots per lease. */
export const MOST_PULLED = 1_000

const PREFIX = 'tmr2'
const SEAL_BYTES = 16
/**
 * A page of a thousand takes 30 kB; with escaped messageIds of 255 bytes each, 2 MB. Longer texts are rejected unread.
 */
const LONGEST = 4 * 1024 * 1024
const SALT_BYTES = 7
const TOKEN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function receiptOf(
  lease: Lease,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  consumer: string,
): Receipt {
  const { token, size, messages, slots, versions, attempts } = lease
  const hasOwnIds = messages.some(({ messageId }) => messageId !== null)
  return {
    topic: topic.name,
    topicUid: topic.uid,
    group: subscription.group,
    subscriptionId: subscription.id,
    subscriptionUid: subscription.uid,
    token,
    size,
    ids: messages.map(({ id }) => id),
    salts: messages.map(({ salt }) => salt),
    slots,
    versions,
    attempts,
    messageIds: hasOwnIds ? messages.map(({ messageId }) => messageId) : null,
    consumer,
    pulledAt: Date.now(),
  }
}

export function encodeReceipt(receipt: Receipt, key: Uint8Array): string {
  const { topic, topicUid, group, subscriptionId, subscriptionUid, token, size, ids } = receipt
  const { salts, slots, versions, attempts, messageIds, consumer, pulledAt } = receipt
  // Neighbouring messages have close ids: as differences a page of a thousand takes 3 kB instead of 10.
  const distances = ids.map((id, index) => id - (ids[index - 1] ?? 0))
  const where = [topic, topicUid, group, subscriptionId, subscriptionUid]
  const messages = [distances, packSalts(salts), slots, versions, attempts, messageIds]
  const fields = [...where, token, size, ...messages, consumer, pulledAt]
  const body = Buffer.from(JSON.stringify(fields)).toString('base64url')
  return `${PREFIX}.${body}.${sealOf(body, key).toString('base64url')}`
}

/** Input from outside is not trusted: nothing is parsed before its signature has been verified. */
export function decodeReceipt(text: unknown, key: Uint8Array): Receipt {
  if (typeof text !== 'string' || text.length > LONGEST) throw new InvalidReceiptError('it is not a receipt')
  const [prefix, body, seal, ...rest] = text.split('.', 4)
  if (prefix !== PREFIX || body === undefined || seal === undefined || rest.length > 0)
    throw new InvalidReceiptError('it is not a receipt')
  if (!isSeal(seal, sealOf(body, key)))
    throw new InvalidReceiptError('it was changed or cut, or comes from another namespace')
  const receipt = toReceipt(parse(body))
  if (receipt === undefined) throw new InvalidReceiptError('its fields are wrong')
  return receipt
}

function parse(body: string): unknown {
  try {
    return JSON.parse(Buffer.from(body, 'base64url').toString())
  } catch {
    return undefined
  }
}

function toReceipt(fields: unknown): Receipt | undefined {
  if (!Array.isArray(fields) || fields.length !== 15) return undefined
  const [topic, uid, group, subscriptionId, subscriptionUid, token, size, distances, ...rest] = fields
  const [packed, slots, versions, attempts, messageIds, consumer, pulledAt] = rest
  const isNamed = typeof topic === 'string' && typeof group === 'string' && isWhole(uid, 0)
  if (
    !isNamed ||
    !isWhole(subscriptionId, 0) ||
    !isWhole(subscriptionUid, 0) ||
    !matches(TOKEN, token) ||
    !isWhole(size, 1) ||
    size > MOST_PULLED
  )
    return undefined
  if (!areWhole(distances, Number.MIN_SAFE_INTEGER) || distances.length === 0 || distances.length > size)
    return undefined
  const { length } = distances
  const isList = (value: unknown, least: number): value is number[] | null =>
    value === null || (areWhole(value, least) && value.length === length)
  if (!isList(slots, 0) || !isList(versions, 1) || !isList(attempts, 1)) return undefined
  if (slots === null ? length !== size : slots.some(slot => slot >= size)) return undefined
  if (messageIds !== null && !areTexts(messageIds, length)) return undefined
  if (typeof consumer !== 'string' || !isWhole(pulledAt, 0)) return undefined
  const salts = unpackSalts(packed, length)
  if (salts === undefined) return undefined
  let last = 0
  const ids = distances.map(distance => (last += distance))
  const where = { topic, topicUid: uid, group, subscriptionId, subscriptionUid }
  return { ...where, token, size, ids, salts, slots, versions, attempts, messageIds, consumer, pulledAt }
}

/** One number if all messages are of one publish, otherwise seven bytes each: decimals would take twice as much. */
function packSalts(salts: readonly number[]): number | string {
  const [first = 0] = salts
  if (salts.every(salt => salt === first)) return first
  const bytes = Buffer.alloc(salts.length * SALT_BYTES)
  for (const [index, salt] of salts.entries()) {
    bytes.writeUIntBE(Math.floor(salt / 0x1_0000_0000), index * SALT_BYTES, 3)
    bytes.writeUInt32BE(salt % 0x1_0000_0000, index * SALT_BYTES + 3)
  }
  return bytes.toString('base64url')
}

function unpackSalts(packed: unknown, count: number): number[] | undefined {
  if (isWhole(packed, 0)) return new Array(count).fill(packed)
  if (typeof packed !== 'string') return undefined
  const bytes = Buffer.from(packed, 'base64url')
  if (bytes.length !== count * SALT_BYTES) return undefined
  return Array.from({ length: count }, (_, index) => {
    const at = index * SALT_BYTES
    return bytes.readUIntBE(at, 3) * 0x1_0000_0000 + bytes.readUInt32BE(at + 3)
  })
}

const matches = (pattern: RegExp, value: unknown): value is string => typeof value === 'string' && pattern.test(value)

const isWhole = (value: unknown, least: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least

const areWhole = (value: unknown, least: number): value is number[] =>
  Array.isArray(value) && value.every(each => isWhole(each, least))

const areTexts = (value: unknown, length: number): value is (string | null)[] =>
  Array.isArray(value) && value.length === length && value.every(each => each === null || typeof each === 'string')

const sealOf = (body: string, key: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${PREFIX}.${body}`).digest().subarray(0, SEAL_BYTES)

/** Base64 has several spellings of the same bytes; only ours is accepted. */
function isSeal(text: string, seal: Buffer): boolean {
  const given = Buffer.from(text, 'latin1')
  const right = Buffer.from(seal.toString('base64url'), 'latin1')
  return given.length === right.length && timingSafeEqual(given, right)
}
