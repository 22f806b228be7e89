/**
 * The token of a lease has the form of a UUID: 10 digits of the subscription, 10 of the lease's number, 4 of its size, and
 * 8 random ones. Settling needs no other knowledge: the subscription leads to the document, and the number tells whether
 * a lease that the document does not have was finished.
 */
export type Token = {
  readonly subscription: number
  readonly number: number
  readonly size: number
  readonly nonce: string
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')

export function formatToken({ subscription, number, size, nonce }: Token): string {
  const digits = hex(subscription, 10) + hex(number, 10) + hex(size, 4) + nonce
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

export function parseToken(token: string): Token | undefined {
  const digits = token.replaceAll('-', '')
  if (!/^[0-9a-f]{32}$/.test(digits)) return undefined
  const number = (from: number, to: number): number => Number.parseInt(digits.slice(from, to), 16)
  return { subscription: number(0, 10), number: number(10, 20), size: number(20, 24), nonce: digits.slice(24) }
}

/** A subscription's id leads to its topic. */
const GROUPS = 0x1_0000
export const subscriptionId = (topicId: number, group: number): number => topicId * GROUPS + group
export const topicIdOf = (subscription: number): number => Math.floor(subscription / GROUPS)
