import type { ClaimRequest, Suspects } from '../leases.ts'
import { rowOf, rowsOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

/** A retry with the attempt and version that the claim would give it. */
export type RetryRow = { id: number; attempts: number; version: number }

type Chosen = { readonly rows: RetryRow[]; readonly suspects: Suspects; readonly waiting: Suspects }

const NOTHING: Chosen = { rows: [], suspects: 'none', waiting: 'none' }

/**
 * The due retries that a claim takes: one suspect on its last attempt, if the claimer holds nothing else; otherwise
 * messages that failed on their own, together; otherwise one piece of an expired lease.
 */
export function chooseRetries(tx: Transaction, request: ClaimRequest, now: number): Chosen {
  if (!hasDue(tx, request, now)) return NOTHING
  const { maxAttempts } = request.topic.config
  const [piece] = dueRows<RetryRow & { piece: string }>(tx, request, IN_PIECES, now, 1)
  // Its piece was formed when it had more attempts left.
  const isLast = piece !== undefined && piece.attempts >= maxAttempts
  const alone = isLast ? [piece] : dueRows(tx, request, ALONE, now, 1)
  if (alone.length > 0 && request.suspects === 'alone') return { ...NOTHING, rows: alone, suspects: 'alone' }

  const mayShare = piece !== undefined && !isLast
  const waiting = alone.length > 0 ? 'alone' : mayShare && request.suspects === 'none' ? 'shared' : 'none'
  const failed = dueRows(tx, request, FAILED, now, request.limit)
  if (failed.length > 0 || !mayShare || request.suspects === 'none') return { rows: failed, suspects: 'none', waiting }
  return { rows: rowsOfPiece(tx, request, piece.piece, now), suspects: 'shared', waiting }
}

// The indexes are named because SQLite would otherwise read all of a group's retries, or all suspects to find those
// that are alone.
const FAILED = { index: 'tidemark_retry_due', which: 'suspect = 0' }
const IN_PIECES = { index: 'tidemark_retry_suspect', which: 'piece is not null' }
const ALONE = { index: 'tidemark_retry_alone', which: 'suspect = 1 and piece is null' }

/** One statement tells nearly every claim that there are none. */
function hasDue(tx: Transaction, { subscription }: ClaimRequest, now: number): boolean {
  const isDue = (suspect: number): string => `
    exists (
      select 1 from tidemark_retry indexed by tidemark_retry_due
      where subscription_id = ?1 and suspect = ${suspect} and token is null and due_at <= ?2
    )`
  const row = rowOf<{ due: number }>(tx.prepare(`select ${isDue(0)} or ${isDue(1)} as due`), subscription.id, now)
  return row?.due === 1
}

function dueRows<T = RetryRow>(
  tx: Transaction,
  { subscription }: ClaimRequest,
  { index, which }: typeof FAILED,
  now: number,
  limit: number,
): T[] {
  return rowsOf<T>(
    tx.prepare(`
      select id, attempts + 1 as attempts, version + 1 as version, piece
      from tidemark_retry indexed by ${index}
      where subscription_id = ? and ${which} and token is null and due_at <= ?
      order by due_at, id
      limit ?`),
    subscription.id,
    now,
    limit,
  )
}

function rowsOfPiece(tx: Transaction, { subscription, limit }: ClaimRequest, piece: string, now: number): RetryRow[] {
  return rowsOf<RetryRow>(
    tx.prepare(`
      select id, attempts + 1 as attempts, version + 1 as version
      from tidemark_retry indexed by tidemark_retry_piece
      where piece = ? and subscription_id = ? and token is null and due_at <= ?
      order by id
      limit ?`),
    piece,
    subscription.id,
    now,
    limit,
  )
}

/** When the group's next retry is due or its next lease expires, as far as this claim may take them. */
export function nextDueAt(tx: Transaction, { subscription, suspects, sweep }: ClaimRequest): number | null {
  const row = rowOf<{ due: number | null }>(
    tx.prepare(`
      select min(due) as due from (
        select min(due_at) as due from tidemark_retry where subscription_id = ?1 and suspect = 0 and token is null
        union all
        select min(due_at) from tidemark_retry where subscription_id = ?1 and piece is not null and token is null and ?2
        union all
        select min(due_at) from tidemark_retry indexed by tidemark_retry_alone
        where subscription_id = ?1 and suspect = 1 and piece is null and token is null and ?3
        union all
        select min(deadline) from tidemark_lease
        where subscription_id = ?1 and deadline is not null and done_at is null and expired_at is null and ?4
      )`),
    subscription.id,
    suspects === 'none' ? 0 : 1,
    suspects === 'alone' ? 1 : 0,
    sweep ? 1 : 0,
  )
  return row?.due ?? null
}
