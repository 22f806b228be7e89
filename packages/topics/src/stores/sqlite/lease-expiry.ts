import { LeaseExpiredError } from '../../errors.ts'
import type { ClaimRequest, TakeOver } from '../leases.ts'
import { endLease, type LiveLease } from './end-lease.ts'
import { requiredRow, rowsOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

/** How long closed leases are remembered, so that a repeated settlement is told from a stale one. */
const REMEMBER_CLOSED_MS = 3_600_000

/** Ends the leases that ran out, here, in the claim's transaction. */
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
      // The longest waiting come first.
      dueAt: lease.deadline,
      error: new LeaseExpiredError(lease.consumer),
    })
    if (taken.count > 0) takeOvers.push(taken)
    deadLettered += dead
  }
  return { takeOvers, deadLettered }
}

/** Leases that one step looks at. */
const LOOKED_AT = 5_000

/**
 * One step over all leases, from `after` on; gives where the next goes on. An index by their end would cost every settlement
 * a page of the log file, and those that are left are few: consumers say which of theirs may go.
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
