import { randomUUID } from 'node:crypto'
import type { RowCache } from '../../row-cache.ts'
import type { ClaimRequest, ClaimResult, Lease, SubscriptionStatus } from '../store.ts'
import { hasBackfilled, takeBackfilled } from './backfills.ts'
import { type Connection, rowOf, rowsOf } from './connection.ts'
import { expireLeases } from './expire.ts'
import { readOne, readRange } from './log.ts'

type Place = {
  status: SubscriptionStatus
  cursor: number
  backfilling: number
  first_id: number
  next_id: number
  last_extra_id: number
  config_version: number
}
type RetryRow = { id: number; attempts: number; version: number }

/** What the transaction decided; the rows themselves are read after it, without the write lock. */
type Claimed =
  | { kind: 'page'; token: string; first: number; last: number; lastExtraId: number }
  | { kind: 'retry'; token: string; rows: RetryRow[]; suspect: boolean }
  | { kind: 'backfilled'; token: string; ids: readonly number[] }

/**
 * One short transaction: expired leases first, then retries that are due, then the next page of the log. It commits
 * without waiting for the disk: losing a claim to a power failure only costs a redelivery.
 */
export async function claim(
  connection: Connection,
  request: ClaimRequest,
  { cache, lookFirst }: { cache: RowCache | undefined; lookFirst: boolean },
): Promise<ClaimResult> {
  if (lookFirst) {
    const looked = await connection.retryWhileBusy(() => connection.read(() => look(connection, request)))
    if (!looked.work) return looked.result
  }
  const busyBefore = connection.busyCount
  const { result, claimed } = await connection.write(false, () => claimInTransaction(connection, request))
  return {
    ...result,
    conflict: connection.busyCount > busyBefore,
    lease: claimed && connection.read(() => toLease(connection, request, claimed, cache)),
  }
}

/** Reads only: an idle group costs no write. */
function look(connection: Connection, request: ClaimRequest): { work: boolean; result: ClaimResult } {
  const place = placeOf(connection, request)
  const now = connection.now()
  const due = place?.status === 'ACTIVE' ? nextDueAt(connection, request) : null
  const log = place !== undefined && place.next_id - 1 > place.cursor
  const isBackfilled = place?.backfilling === 1 && hasBackfilled(connection, request.subscription.id)
  const work = place?.status === 'ACTIVE' && (log || isBackfilled || (due !== null && due <= now))
  return { work, result: emptyResult(place, due === null ? null : Math.max(0, due - now)) }
}

function claimInTransaction(
  connection: Connection,
  request: ClaimRequest,
): { result: ClaimResult; claimed: Claimed | null } {
  const place = placeOf(connection, request)
  if (place === undefined || place.status !== 'ACTIVE') return { result: emptyResult(place, null), claimed: null }
  const now = connection.now()
  for (const token of request.forget) connection.prepare('delete from tidemark_lease where token = ?').run(token)
  const expired = request.sweep ? expireLeases(connection, request, now) : { takenOver: 0, deadLettered: 0 }
  let more = false
  let claimed = claimRetries(connection, request, now)
  if (claimed === null && place.backfilling === 1) ({ claimed, more } = claimBackfilled(connection, request, now))
  claimed ??= claimPage(connection, request, place, now)
  const due = claimed !== null ? null : more ? now : nextDueAt(connection, request)
  const result = { ...emptyResult(place, due === null ? null : Math.max(0, due - now)), ...expired }
  return { result, claimed }
}

function placeOf(connection: Connection, { subscription }: ClaimRequest): Place | undefined {
  return rowOf<Place>(
    connection.prepare(`
      select s.status, s.cursor, s.backfilling, t.first_id, t.next_id, t.last_extra_id, t.config_version
      from tidemark_subscription s
      join tidemark_topic t on t.id = s.topic_id
      where s.id = ?`),
    subscription.id,
  )
}

function claimRetries(connection: Connection, request: ClaimRequest, now: number): Claimed | null {
  if (!hasDueRetries(connection, request, now)) return null
  const due = dueRetries(connection, request, { suspect: false, now, limit: request.limit })
  if (due.length > 0) return leaseRetries(connection, request, due, false, now)
  if (!request.suspects) return null
  const suspects = dueRetries(connection, request, { suspect: true, now, limit: 1 })
  return suspects.length > 0 ? leaseRetries(connection, request, suspects, true, now) : null
}

/** One look-up says for nearly every claim that there are none. */
function hasDueRetries(connection: Connection, { subscription }: ClaimRequest, now: number): boolean {
  const row = rowOf<{ due: number }>(
    connection.prepare(`
      select exists (
        select 1 from tidemark_retry where subscription_id = ?1 and suspect in (0, 1) and token is null and due_at <= ?2
      ) as due`),
    subscription.id,
    now,
  )
  return row?.due === 1
}

function dueRetries(
  connection: Connection,
  { subscription }: ClaimRequest,
  { suspect, now, limit }: { suspect: boolean; now: number; limit: number },
): RetryRow[] {
  return rowsOf<RetryRow>(
    connection.prepare(`
      select id, attempts + 1 as attempts, version + 1 as version
      from tidemark_retry
      where subscription_id = ? and suspect = ? and token is null and due_at <= ?
      order by due_at, id
      limit ?`),
    subscription.id,
    suspect ? 1 : 0,
    now,
    limit,
  )
}

function leaseRetries(
  connection: Connection,
  request: ClaimRequest,
  rows: RetryRow[],
  suspect: boolean,
  now: number,
): Claimed {
  const token = insertLease(connection, request, { kind: 'retry', first: null, size: rows.length, now })
  const hold = connection.prepare(`
    update tidemark_retry
    set attempts = ?, version = ?, token = ?, slot = ?
    where subscription_id = ? and id = ?`)
  for (const [slot, { id, attempts, version }] of rows.entries()) {
    hold.run(attempts, version, token, slot, request.subscription.id, id)
  }
  return { kind: 'retry', token, rows, suspect }
}

/** `more`: there are ids that this claim did not look at. */
function claimBackfilled(
  connection: Connection,
  request: ClaimRequest,
  now: number,
): { claimed: Claimed | null; more: boolean } {
  const token = randomUUID()
  const { ids, more } = takeBackfilled(connection, request.subscription.id, { token, limit: request.limit, now })
  if (ids.length === 0) return { claimed: null, more }
  insertLease(connection, request, { token, kind: 'retry', first: null, size: ids.length, now })
  return { claimed: { kind: 'backfilled', token, ids }, more }
}

function claimPage(connection: Connection, request: ClaimRequest, place: Place, now: number): Claimed | null {
  const first = Math.max(place.cursor + 1, place.first_id)
  const last = Math.min(first + request.limit - 1, place.next_id - 1)
  if (last < first) return null
  const token = insertLease(connection, request, { kind: 'page', first, size: last - first + 1, now })
  connection
    .prepare('update tidemark_subscription set cursor = ?, moved_at = ? where id = ?')
    .run(last, now, request.subscription.id)
  return { kind: 'page', token, first, last, lastExtraId: place.last_extra_id }
}

function insertLease(
  connection: Connection,
  { subscription, consumer, topic }: ClaimRequest,
  lease: { token?: string; kind: 'page' | 'retry'; first: number | null; size: number; now: number },
): string {
  const token = lease.token ?? randomUUID()
  const deadline = topic.config.leaseMs === 0 ? null : lease.now + topic.config.leaseMs
  connection
    .prepare(`
      insert into tidemark_lease (token, subscription_id, consumer, kind, first_id, size, deadline, claimed_at)
      values (?, ?, ?, ?, ?, ?, ?, ?)`)
    .run(token, subscription.id, consumer, lease.kind, lease.first, lease.size, deadline, lease.now)
  return token
}

/** When the group's next retry is due or its next lease runs out, of what this claim may take at all. */
function nextDueAt(connection: Connection, { subscription, suspects, sweep }: ClaimRequest): number | null {
  const row = rowOf<{ due: number | null }>(
    connection.prepare(`
      select min(due) as due from (
        select min(due_at) as due from tidemark_retry where subscription_id = ?1 and suspect = 0 and token is null
        union all
        select min(due_at) from tidemark_retry where subscription_id = ?1 and suspect = 1 and token is null and ?2
        union all
        select min(deadline) from tidemark_lease
        where subscription_id = ?1 and deadline is not null and done_at is null and expired_at is null and ?3
      )`),
    subscription.id,
    suspects ? 1 : 0,
    sweep ? 1 : 0,
  )
  return row?.due ?? null
}

function toLease(
  connection: Connection,
  { topic }: ClaimRequest,
  claimed: Claimed,
  cache: RowCache | undefined,
): Lease {
  if (claimed.kind === 'page') {
    const { token, first, last } = claimed
    const messages = readRange(connection, topic.id, claimed, cache)
    const size = last - first + 1
    const slots = messages.length === size ? null : messages.map(message => message.id - first)
    return { token, size, messages, slots, versions: null, attempts: null, suspect: false }
  }
  if (claimed.kind === 'backfilled') {
    const { token, ids } = claimed
    const found = ids.flatMap((id, slot) => {
      const message = readOne(connection, topic.id, id)
      return message === undefined ? [] : [{ slot, message }]
    })
    const slots = found.length === ids.length ? null : found.map(({ slot }) => slot)
    const messages = found.map(({ message }) => message)
    return { token, size: ids.length, messages, slots, versions: null, attempts: null, suspect: false }
  }
  const { token, rows, suspect } = claimed
  const messages = rows.map(row => readOne(connection, topic.id, row.id))
  const found = rows.flatMap((row, slot) => {
    const message = messages[slot]
    return message === undefined ? [] : [{ ...row, slot, message }]
  })
  return {
    token,
    size: rows.length,
    messages: found.map(each => each.message),
    slots: found.map(each => each.slot),
    versions: found.map(each => each.version),
    attempts: found.map(each => each.attempts),
    suspect,
  }
}

const emptyResult = (place: Place | undefined, nextDueMs: number | null): ClaimResult => ({
  status: place?.status ?? 'GONE',
  lease: null,
  takenOver: 0,
  deadLettered: 0,
  conflict: false,
  nextDueMs,
  configVersion: place?.config_version ?? 0,
})
