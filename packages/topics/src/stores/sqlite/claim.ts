import { randomUUID } from 'node:crypto'
import type { ClaimRequest, ClaimResult, Lease, Suspects } from '../leases.ts'
import type { RowCache } from '../row-cache.ts'
import type { SubscriptionStatus } from '../subscription-record.ts'
import { chooseRetries, nextDueAt, type RetryRow } from './due-retries.ts'
import { expireLeases } from './lease-expiry.ts'
import { readOne, readRange } from './log-rows.ts'
import { countFitting, lastFitting } from './page-bytes.ts'
import { rowOf } from './rows.ts'
import { hasBackfilled, takeBackfilled } from './take-backfilled.ts'
import { findTopic } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

type ClaimState = {
  status: SubscriptionStatus
  cursor: number
  backfilling: number
  first_id: number
  next_id: number
  last_extra_id: number
  last_large_id: number
  config_version: number
  moves: number
}

/** What the transaction decided. The rows are read after it, without the write lock. */
export type Claimed =
  | { kind: 'page'; token: string; first: number; last: number; lastExtraId: number }
  | { kind: 'retry'; token: string; rows: RetryRow[]; suspects: Suspects }
  | { kind: 'backfilled'; token: string; ids: readonly number[] }

/** Only reads, so an idle group costs no write. */
export function look(tx: Transaction, asked: ClaimRequest): { work: boolean; result: ClaimResult } {
  const place = claimStateOf(tx, asked)
  if (place?.status !== 'ACTIVE') return { work: false, result: emptyResult(place, null) }
  if (isAhead(place)) return { work: false, result: aheadResult(place) }
  const request = upToDate(tx, asked, place)
  const now = tx.now()
  const due = nextDueAt(tx, request)
  const log = place.next_id - 1 > place.cursor
  const isBackfilled = place.backfilling === 1 && hasBackfilled(tx, request.subscription.id)
  if (log || isBackfilled || (due !== null && due <= now)) return { work: true, result: emptyResult(place, null) }
  const { waiting } = chooseRetries(tx, request, now)
  return { work: false, result: { ...emptyResult(place, due === null ? null : due - now), waiting } }
}

/** Ends expired leases, then takes due retries, then the next page of the log. */
export function claim(tx: Transaction, asked: ClaimRequest): { result: ClaimResult; claimed: Claimed | null } {
  const place = claimStateOf(tx, asked)
  if (place?.status === 'ACTIVE' && isAhead(place)) return { result: aheadResult(place), claimed: null }
  if (place === undefined || place.status !== 'ACTIVE') return { result: emptyResult(place, null), claimed: null }
  const request = upToDate(tx, asked, place)
  const now = tx.now()
  forgetEnded(tx, request)
  const expired = request.sweep ? expireLeases(tx, request, now) : { takeOvers: [], deadLettered: 0 }
  let more = false
  const { rows, suspects, waiting } = chooseRetries(tx, request, now)
  const fits = (ids: readonly number[]): number => countThatFit(tx, request, place, ids)
  const fitting = rows.slice(0, fits(rows.map(({ id }) => id)))
  let claimed = fitting.length > 0 ? leaseRetries(tx, request, fitting, suspects, now) : null
  if (claimed === null && place.backfilling === 1) ({ claimed, more } = claimBackfilled(tx, request, fits, now))
  claimed ??= claimPage(tx, request, place, now)
  const due = claimed !== null ? null : more ? now : nextDueAt(tx, request)
  const moves = { before: place.moves, after: place.moves + (claimed?.kind === 'page' ? 1 : 0) }
  const result = { ...emptyResult(place, due === null ? null : Math.max(0, due - now)), ...expired, waiting, moves }
  return { result, claimed }
}

/** Another process may have changed the topic: its lease and attempts apply from the next claim on. */
function upToDate(tx: Transaction, request: ClaimRequest, { config_version }: ClaimState): ClaimRequest {
  if (config_version === request.topic.configVersion) return request
  return { ...request, topic: findTopic(tx, request.topic.name) ?? request.topic }
}

/** The caller knows these leases to have ended. */
function forgetEnded(tx: Transaction, { subscription, forget }: ClaimRequest): void {
  for (const token of forget) {
    tx.prepare(`
      delete from tidemark_lease
      where token = ? and subscription_id = ? and (done_at is not null or expired_at is not null)`).run(
      token,
      subscription.id,
    )
  }
}

/** Payloads need not be measured if all ids are above the last large message. */
function countThatFit(
  tx: Transaction,
  { topic, maxBytes }: ClaimRequest,
  { last_large_id }: ClaimState,
  ids: readonly number[],
): number {
  return ids.some(id => id <= last_large_id) ? countFitting(tx, topic.id, ids, maxBytes) : ids.length
}

function claimStateOf(tx: Transaction, { topic, subscription }: ClaimRequest): ClaimState | undefined {
  return rowOf<ClaimState>(
    tx.prepare(`
      select s.status, s.cursor, s.backfilling, t.first_id, t.next_id, t.last_extra_id, t.last_large_id, t.config_version, s.moves
      from tidemark_subscription s
      join tidemark_topic t on t.id = s.topic_id
      where s.id = ? and s.uid = ? and t.uid = ?`),
    subscription.id,
    subscription.uid,
    topic.uid,
  )
}

function leaseRetries(
  tx: Transaction,
  request: ClaimRequest,
  rows: RetryRow[],
  suspects: Suspects,
  now: number,
): Claimed {
  const token = insertLease(tx, request, { kind: 'retry', first: null, size: rows.length, now })
  const hold = tx.prepare(`
    update tidemark_retry
    set attempts = ?, version = ?, token = ?, slot = ?
    where subscription_id = ? and id = ?`)
  for (const [slot, { id, attempts, version }] of rows.entries()) {
    hold.run(attempts, version, token, slot, request.subscription.id, id)
  }
  return { kind: 'retry', token, rows, suspects }
}

/** `more`: there are ids that this claim did not scan. */
function claimBackfilled(
  tx: Transaction,
  request: ClaimRequest,
  fits: (ids: readonly number[]) => number,
  now: number,
): { claimed: Claimed | null; more: boolean } {
  const token = randomUUID()
  const { ids, more } = takeBackfilled(tx, request.subscription.id, { token, limit: request.limit, fits, now })
  if (ids.length === 0) return { claimed: null, more }
  insertLease(tx, request, { token, kind: 'retry', first: null, size: ids.length, now })
  return { claimed: { kind: 'backfilled', token, ids }, more }
}

function claimPage(tx: Transaction, request: ClaimRequest, place: ClaimState, now: number): Claimed | null {
  const first = Math.max(place.cursor + 1, place.first_id)
  const end = Math.min(first + request.limit - 1, place.next_id - 1)
  if (end < first) return null
  const { topic, maxBytes } = request
  const last = first <= place.last_large_id ? lastFitting(tx, topic.id, { first, last: end, maxBytes }) : end
  const token = insertLease(tx, request, { kind: 'page', first, size: last - first + 1, now })
  tx.prepare('update tidemark_subscription set cursor = ?, moved_at = ?, moves = moves + 1 where id = ?').run(
    last,
    now,
    request.subscription.id,
  )
  return { kind: 'page', token, first, last, lastExtraId: place.last_extra_id }
}

function insertLease(
  tx: Transaction,
  { subscription, consumer, topic, leaseMs }: ClaimRequest,
  lease: { token?: string; kind: 'page' | 'retry'; first: number | null; size: number; now: number },
): string {
  const token = lease.token ?? randomUUID()
  const termMs = leaseMs ?? topic.config.leaseMs
  const deadline = termMs === 0 ? null : lease.now + termMs
  tx.prepare(`
      insert into tidemark_lease (token, subscription_id, consumer, kind, first_id, size, deadline, claimed_at)
      values (?, ?, ?, ?, ?, ?, ?, ?)`).run(
    token,
    subscription.id,
    consumer,
    lease.kind,
    lease.first,
    lease.size,
    deadline,
    lease.now,
  )
  return token
}

export function toLease(
  tx: Transaction,
  { topic }: ClaimRequest,
  claimed: Claimed,
  cache: RowCache | undefined,
): Lease {
  if (claimed.kind === 'page') {
    const { token, first, last } = claimed
    const messages = readRange(tx, topic.id, claimed, cache)
    const size = last - first + 1
    const slots = messages.length === size ? null : messages.map(message => message.id - first)
    return { token, size, messages, slots, versions: null, attempts: null, suspects: 'none' }
  }
  if (claimed.kind === 'backfilled') {
    const { token, ids } = claimed
    const found = ids.flatMap((id, slot) => {
      const message = readOne(tx, topic.id, id)
      return message === undefined ? [] : [{ slot, message }]
    })
    const slots = found.length === ids.length ? null : found.map(({ slot }) => slot)
    const messages = found.map(({ message }) => message)
    return { token, size: ids.length, messages, slots, versions: null, attempts: null, suspects: 'none' }
  }
  const { token, rows, suspects } = claimed
  const messages = rows.map(row => readOne(tx, topic.id, row.id))
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
    suspects,
  }
}

/** The cursor is ahead of the log: everything published until the ids catch up would be skipped. */
const isAhead = ({ cursor, next_id }: ClaimState): boolean => cursor >= next_id

const aheadResult = (place: ClaimState): ClaimResult => ({ ...emptyResult(place, null), status: 'AHEAD' })

const emptyResult = (place: ClaimState | undefined, nextDueMs: number | null): ClaimResult => ({
  status: place?.status ?? 'GONE',
  lease: null,
  takeOvers: [],
  deadLettered: 0,
  waiting: 'none',
  conflict: false,
  nextDueMs,
  configVersion: place?.config_version ?? 0,
  moves: { before: place?.moves ?? 0, after: place?.moves ?? 0 },
})
