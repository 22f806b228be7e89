import { ignoreRejection, isThenable } from '../errors/failure.ts'
import { MembershipError } from '../errors.ts'
import type { LeasedDelivery } from './delivery.ts'
import type { Filter, Member } from './member.ts'

/** The member for a message: a key always goes to the same one, while the eligible members stay the same. */
export function selectMember<T>(members: readonly Member<T>[], delivery: LeasedDelivery<T>): Member<T> | undefined {
  const only = members.length === 1 ? members[0] : undefined
  if (only !== undefined && only.filter === undefined) return only
  const eligible = members.filter(member => member.filter === undefined || passes(member.filter, delivery))
  if (eligible.length <= 1) return eligible[0]
  return eligible[hash(delivery.key ?? delivery.messageId) % eligible.length]
}

/** A promise is always truthy, so an async filter would accept everything. */
export function passes<T>(filter: Filter<T>, delivery: LeasedDelivery<T>): boolean {
  const answer: unknown = filter(delivery)
  if (!isThenable(answer)) return Boolean(answer)
  ignoreRejection(answer)
  throw new MembershipError('The filter returned a promise. Filters are synchronous: decide in the handler instead')
}

/** FNV-1a, cut to 31 bits so that the remainder is never negative. */
export function hash(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  }
  return value & 0x7fffffff
}
