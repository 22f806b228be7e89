import { LeaseExpiredError } from '../../errors.ts'
import type { ClaimRequest, FailedAttempt } from '../store.ts'
import { type Bitmap, hasBit } from './bitmap.ts'
import { completeIds, type Place } from './bits.ts'
import { type Connection, requiredRow, rowsOf } from './connection.ts'
import { buryMessage } from './dead-letters.ts'

/** How long closed leases are remembered, so that a repeated settlement is told from a stale one. */
const REMEMBER_CLOSED_MS = 3_600_000

type ExpiredLease = {
  token: string
  consumer: string
  kind: 'page' | 'retry'
  first_id: number
  size: number
  settled: Bitmap | null
  deadline: number
}

/**
 * Splits the leases that ran out: each unsettled message becomes a retry of its own, so one poison message can't hold
 * the others; past maxAttempts it becomes a dead letter, here, in the claim's transaction.
 */
export function expireLeases(
  connection: Connection,
  request: ClaimRequest,
  now: number,
): { takenOver: number; deadLettered: number } {
  let takenOver = 0
  const dead: number[] = []
  const leases = rowsOf<ExpiredLease>(
    connection.prepare(`
      select token, consumer, kind, first_id, size, settled, deadline
      from tidemark_lease
      where subscription_id = ? and deadline < ? and done_at is null and expired_at is null
      order by deadline`),
    request.subscription.id,
    now,
  )
  for (const lease of leases) {
    connection.prepare('update tidemark_lease set expired_at = ? where token = ?').run(now, lease.token)
    const unsettled = lease.kind === 'page' ? unsettledOfPage(lease) : unsettledRetries(connection, lease)
    for (const { id, attempts, version, history } of unsettled) {
      const { name, message } = new LeaseExpiredError(lease.consumer)
      const failed: FailedAttempt[] = [...history, { attempt: attempts, at: now, name, message }]
      if (attempts >= request.topic.config.maxAttempts) {
        buryMessage(connection, request.topic.id, request.subscription, { id, attempts, version, history: failed })
        dead.push(id)
      } else {
        connection
          .prepare(`
            insert into tidemark_retry (subscription_id, id, attempts, version, due_at, suspect, history)
            values (?, ?, ?, ?, ?, 1, ?)
            on conflict do update set due_at = excluded.due_at, suspect = 1, history = excluded.history, token = null, slot = null`)
          .run(request.subscription.id, id, attempts, version, lease.deadline, JSON.stringify(failed))
        takenOver++
      }
    }
  }
  if (dead.length > 0) completeIds(connection, placeOf(connection, request), dead)
  return { takenOver, deadLettered: dead.length }
}

const placeOf = (connection: Connection, { subscription }: ClaimRequest): Place =>
  requiredRow<Place>(
    connection.prepare('select topic_id, bit from tidemark_subscription where id = ?'),
    subscription.id,
  )

/** No index helps: it would cost every settlement a page of the log file. So this is for now and then. */
export function forgetOldLeases(connection: Connection, now: number): void {
  connection
    .prepare(`
      delete from tidemark_lease
      where (done_at is not null or expired_at is not null) and coalesce(done_at, expired_at) < ?`)
    .run(now - REMEMBER_CLOSED_MS)
}

type Unsettled = { id: number; attempts: number; version: number; history: FailedAttempt[] }

function unsettledOfPage({ first_id, size, settled }: ExpiredLease): Unsettled[] {
  const unsettled: Unsettled[] = []
  for (let slot = 0; slot < size; slot++) {
    if (!hasBit(settled, slot)) unsettled.push({ id: first_id + slot, attempts: 1, version: 1, history: [] })
  }
  return unsettled
}

function unsettledRetries(connection: Connection, { token }: ExpiredLease): Unsettled[] {
  return rowsOf<Omit<Unsettled, 'history'> & { history: string }>(
    connection.prepare('select id, attempts, version, history from tidemark_retry where token = ?'),
    token,
  ).map(row => ({ ...row, history: JSON.parse(row.history) as FailedAttempt[] }))
}
