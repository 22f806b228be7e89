import { createHash } from 'node:crypto'
import { InvalidReceiptError } from '../../errors.ts'
import type { Lease, SubscriptionRecord, TopicRecord } from '../../stores/store.ts'

/**
 * All that a settlement needs to know of a lease, in the hands of whoever pulled it: no process has to remember it, so
 * any process can settle what another has claimed. The random token is what makes it valid; the rest only names things.
 */
export type Receipt = {
  readonly topic: string
  readonly group: string
  readonly subscriptionId: number
  readonly token: string
  readonly size: number
  /** Of the lease's messages, in their order. */
  readonly ids: readonly number[]
  /** null: message i is in slot i. */
  readonly slots: readonly number[] | null
  /** null: all at 1. */
  readonly versions: readonly number[] | null
  readonly attempts: readonly number[] | null
  /** Only those that publishers gave, by place. */
  readonly messageIds: readonly (string | null)[] | null
}

const PREFIX = 'tmr1'
const CHECK_LENGTH = 10
const TOKEN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function receiptOf(lease: Lease, topic: TopicRecord, subscription: SubscriptionRecord): Receipt {
  const { token, size, messages, slots, versions, attempts } = lease
  const hasOwnIds = messages.some(({ messageId }) => messageId !== null)
  return {
    topic: topic.name,
    group: subscription.group,
    subscriptionId: subscription.id,
    token,
    size,
    ids: messages.map(({ id }) => id),
    slots,
    versions,
    attempts,
    messageIds: hasOwnIds ? messages.map(({ messageId }) => messageId) : null,
  }
}

export function encodeReceipt(receipt: Receipt): string {
  const { topic, group, subscriptionId, token, size, ids, slots, versions, attempts, messageIds } = receipt
  // Neighbours in the log have neighbouring ids: as distances a page of a thousand takes 3 kB, not 10.
  const distances = ids.map((id, index) => id - (ids[index - 1] ?? 0))
  const fields = [topic, group, subscriptionId, token, size, distances, slots, versions, attempts, messageIds]
  const body = Buffer.from(JSON.stringify(fields)).toString('base64url')
  return `${PREFIX}.${body}.${checkOf(body)}`
}

/** What comes back from outside is believed in nothing. */
export function decodeReceipt(text: unknown): Receipt {
  const [prefix, body, check, ...rest] = typeof text === 'string' ? text.split('.') : []
  if (prefix !== PREFIX || body === undefined || rest.length > 0) throw new InvalidReceiptError('it is not one')
  if (check !== checkOf(body)) throw new InvalidReceiptError('it was changed or cut')
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
  if (!Array.isArray(fields) || fields.length !== 10) return undefined
  const [topic, group, subscriptionId, token, size, distances, slots, versions, attempts, messageIds] = fields
  const isNamed = typeof topic === 'string' && typeof group === 'string' && isWhole(subscriptionId, 0)
  if (!isNamed || !matches(TOKEN, token) || !isWhole(size, 1)) return undefined
  if (!areWhole(distances, Number.MIN_SAFE_INTEGER) || distances.length === 0 || distances.length > size)
    return undefined
  const { length } = distances
  const isList = (value: unknown, least: number): value is number[] | null =>
    value === null || (areWhole(value, least) && value.length === length)
  if (!isList(slots, 0) || !isList(versions, 1) || !isList(attempts, 1)) return undefined
  if (slots === null ? length !== size : slots.some(slot => slot >= size)) return undefined
  if (messageIds !== null && !areTexts(messageIds, length)) return undefined
  let last = 0
  const ids = distances.map(distance => (last += distance))
  return { topic, group, subscriptionId, token, size, ids, slots, versions, attempts, messageIds }
}

const matches = (pattern: RegExp, value: unknown): value is string => typeof value === 'string' && pattern.test(value)

const isWhole = (value: unknown, least: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least

const areWhole = (value: unknown, least: number): value is number[] =>
  Array.isArray(value) && value.every(each => isWhole(each, least))

const areTexts = (value: unknown, length: number): value is (string | null)[] =>
  Array.isArray(value) && value.length === length && value.every(each => each === null || typeof each === 'string')

/** Against accidents: a receipt that lost its end must not settle half of a page. */
const checkOf = (body: string): string => createHash('sha256').update(body).digest('base64url').slice(0, CHECK_LENGTH)
