import { type Bitmap, hasBit } from './bitmap.ts'
import { requiredRow, rowsOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

/** Which of these ids the group's live leases and retries hold. */
export function heldIds(tx: Transaction, subscriptionId: number, first: number, last: number): number[] {
  const held = rowsOf<{ id: number }>(
    tx.prepare('select id from tidemark_retry where subscription_id = ? and id between ? and ?'),
    subscriptionId,
    first,
    last,
  ).map(({ id }) => id)
  const leases = rowsOf<{ first_id: number; size: number; settled: Bitmap | null }>(
    tx.prepare(`
      select first_id, size, settled from tidemark_lease
      where subscription_id = ? and kind = 'page' and done_at is null and expired_at is null
        and first_id <= ? and first_id + size > ?`),
    subscriptionId,
    last,
    first,
  )
  for (const { first_id, size, settled } of leases) {
    for (let slot = Math.max(0, first - first_id); slot < size && first_id + slot <= last; slot++) {
      if (!hasBit(settled, slot)) held.push(first_id + slot)
    }
  }
  return held
}

/** The lowest id that the group has not settled. */
export function lowestNeeded(tx: Transaction, subscriptionId: number): number {
  const { lowest } = requiredRow<{ lowest: number }>(
    tx.prepare(`
      select min(id) as lowest from (
        select cursor + 1 as id from tidemark_subscription where id = ?1
        union all
        select min(id) from tidemark_retry where subscription_id = ?1
        union all
        select first_id from tidemark_lease
        where subscription_id = ?1 and kind = 'page' and done_at is null and expired_at is null
      )`),
    subscriptionId,
  )
  return lowest
}
