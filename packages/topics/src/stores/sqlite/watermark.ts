import { type Bitmap, hasBit } from './bitmap.ts'
import { requiredRow, rowsOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

export type Positioned = { readonly id: number; readonly cursor: number }
export type LivePage = { token: string; first_id: number; size: number; settled: Bitmap | null }

/**
 * The id up to which a group needs nothing any more. Everything it has not claimed, holds or will retry, or that its
 * backfill has yet to deliver, lies above it. It never decreases.
 */
export function watermarkOf(tx: Transaction, { id, cursor }: Positioned): number {
  const { lowest } = requiredRow<{ lowest: number | null }>(
    tx.prepare(`
      select min(needed) as lowest from (
        select min(id) as needed from tidemark_retry where subscription_id = ?1
        union all
        select cursor_id + 1 from tidemark_backfill
        where subscription_id = ?1 and (status = 'RUNNING' or cursor_id < checkpoint_id)
      )`),
    id,
  )
  const held = livePages(tx, id).map(firstUnsettled)
  return Math.min(cursor + 1, lowest ?? Number.MAX_SAFE_INTEGER, ...held) - 1
}

export function livePages(tx: Transaction, subscriptionId: number): LivePage[] {
  return rowsOf<LivePage>(
    tx.prepare(`
      select token, first_id, size, settled from tidemark_lease
      where subscription_id = ? and kind = 'page' and done_at is null and expired_at is null`),
    subscriptionId,
  )
}

export function firstUnsettled({ first_id, size, settled }: Omit<LivePage, 'token'>): number {
  let slot = 0
  while (slot < size && hasBit(settled, slot)) slot++
  return first_id + slot
}
