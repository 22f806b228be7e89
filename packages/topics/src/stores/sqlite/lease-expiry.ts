import { LeaseExpiredError } from '../../errors.ts'
import type { ClaimRequest, TakeOver } from '../leases.ts'
import { endLease, type LiveLease } from './end-lease.ts'
import { requiredRow, rowsOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

/** How long closed leases are remembered, to tell a repeated settlement from a stale one. */
const REMEMBER_CLOSED_MS = 3_600_000

/** Ends expired leases in the claim's transaction. */
export function expireLeases(
  tx: Transaction,
  { topic, subscription }: ClaimRequest,
  now: number,
): { takeOvers: TakeOver[]; deadLettered: number } {
  const takeOvers: TakeOver[] = []
  let deadLettered = 0
  const leases = rowsOf<LiveLease & { deadline: number }>(
    tx.prepare(`
      select token, consumer, kind, first_id, size, settled, deadline
      from tidemark_lease
      where subscription_id = ? and deadline < ? and done_at is null and expired_at is null
      order by deadline`),
    subscription.id,
    now,
  )
  for (const lease of leases) {
    const { taken, dead } = endLease(tx, topic, subscription, lease, {
      now,
      // Those that have waited longest come first.
      dueAt: lease.deadline,
      error: new LeaseExpiredError(lease.consumer),
    })
    if (taken.count > 0) takeOvers.push(taken)
    deadLettered += dead
  }
  return { takeOvers, deadLettered }
}

/** Leases checked per step. */
const LOOKED_AT = 5_000

/**
 * One step over all leases, starting after `after`; returns where the next step starts. An index by end time would cost
 * every settlement a WAL page, and few leases remain, because consumers name the ones that can be deleted.
 */
export function forgetOldLeases(tx: Transaction, now: number, after: string): string {
  const { last } = requiredRow<{ last: string | null }>(
    tx.prepare(`
      select max(token) as last from (select token from tidemark_lease where token > ? order by token limit ?)`),
    after,
    LOOKED_AT,
  )
  if (last === null) return ''
  tx.prepare(`
      delete from tidemark_lease
      where token > ? and token <= ? and (done_at is not null or expired_at is not null)
        and coalesce(done_at, expired_at) < ?`).run(after, last, now - REMEMBER_CLOSED_MS)
  return last
}
