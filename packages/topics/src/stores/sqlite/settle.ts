import type { FailedAttempt } from '../failure-record.ts'
import type { Settlement, SettleResult } from '../leases.ts'
import { type Bitmap, countBits, emptyBitmap, hasBit, setBit } from './bitmap.ts'
import { completeIds, completeRange } from './bits.ts'
import { buryMessage } from './bury-message.ts'
import { requiredRow, rowOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

type LeaseRow = {
  subscription_id: number
  kind: 'page' | 'retry'
  first_id: number
  size: number
  settled: Bitmap | null
  done_at: number | null
  expired_at: number | null
  topic_id: number
  bit: number | null
}

/** The state of a claimed message when it fails. */
type Held = { id: number; attempts: number; version: number; history: FailedAttempt[] }

/** Call it inside a durable transaction. */
export function settleLease(tx: Transaction, settlement: Settlement): SettleResult {
  const { token, acks, nacks, releases } = settlement
  const lease = rowOf<LeaseRow>(
    tx.prepare(`
      select l.subscription_id, l.kind, l.first_id, l.size, l.settled, l.done_at, l.expired_at, s.topic_id, s.bit
      from tidemark_lease l
      join tidemark_subscription s on s.id = l.subscription_id
      where l.token = ?`),
    token,
  )
  if (lease === undefined || lease.expired_at !== null) return staleResult(lease, settlement)
  if (lease.done_at !== null) return { stale: [], deadLettered: [], finished: true }
  if (acks === 'all' && lease.kind === 'page') {
    completePage(tx, lease)
    close(tx, token)
    return { stale: [], deadLettered: [], finished: true }
  }

  const settled = lease.settled ? Uint8Array.from(lease.settled) : emptyBitmap(lease.size)
  /** Each slot once: a slot that is already settled stays as it is. */
  const take = (slot: number): boolean => {
    if (slot >= lease.size || hasBit(settled, slot)) return false
    setBit(settled, slot)
    return true
  }
  const deadLettered: number[] = []
  const completed: number[] = []
  for (const slot of acks === 'all' ? everySlot(lease) : acks) {
    if (!take(slot)) continue
    if (lease.bit !== null) completed.push(idOfSlot(tx, lease, token, slot))
    if (lease.kind === 'retry') deleteRetry(tx, token, slot)
  }
  for (const { slot, delayMs, error } of nacks) {
    if (!take(slot)) continue
    const held = heldMessage(tx, lease, token, slot)
    const history = [...held.history, { attempt: held.attempts, at: tx.now(), ...error }]
    if (held.attempts >= settlement.maxAttempts) {
      bury(tx, lease, { ...held, history })
      deadLettered.push(slot)
      completed.push(held.id)
    } else {
      putBack(tx, lease, { ...held, history }, tx.now() + delayMs)
    }
  }
  for (const slot of releases) {
    if (!take(slot)) continue
    const held = heldMessage(tx, lease, token, slot)
    putBack(tx, lease, { ...held, attempts: held.attempts - 1 }, tx.now())
  }
  completeIds(tx, lease, completed)
  const finished = countBits(settled) === lease.size
  if (finished) close(tx, token)
  else tx.prepare('update tidemark_lease set settled = ? where token = ?').run(settled, token)
  return { stale: [], deadLettered, finished }
}

/** Only slots that were not settled before: a nack of an earlier settlement stands. */
function completePage(tx: Transaction, lease: LeaseRow): void {
  const { first_id, size, settled } = lease
  if (settled === null) completeRange(tx, lease, first_id, first_id + size - 1)
  else {
    const open = everySlot(lease).filter(slot => !hasBit(settled, slot))
    completeIds(
      tx,
      lease,
      open.map(slot => first_id + slot),
    )
  }
}

function idOfSlot(tx: Transaction, lease: LeaseRow, token: string, slot: number): number {
  return lease.kind === 'page' ? lease.first_id + slot : heldMessage(tx, lease, token, slot).id
}

export function extendLease(tx: Transaction, token: string, ms: number): boolean {
  const { changes } = tx
    .prepare('update tidemark_lease set deadline = ? where token = ? and done_at is null and expired_at is null')
    .run(ms === 0 ? null : tx.now() + ms, token)
  return changes === 1
}

/**
 * What was settled before the lease expired stands and may be repeated; the rest no longer belongs to this consumer.
 */
function staleResult(lease: LeaseRow | undefined, { size, acks, nacks, releases }: Settlement): SettleResult {
  const slots = [...(acks === 'all' ? everySlot({ size }) : acks), ...nacks.map(nack => nack.slot), ...releases]
  const stale = slots.filter(slot => !hasBit(lease?.settled ?? null, slot))
  return { stale, deadLettered: [], finished: true, ...(lease === undefined && { unknown: true }) }
}

const everySlot = ({ size }: { size: number }): number[] => Array.from({ length: size }, (_, slot) => slot)

function close(tx: Transaction, token: string): void {
  tx.prepare('update tidemark_lease set done_at = ?, settled = null where token = ?').run(tx.now(), token)
}

function deleteRetry(tx: Transaction, token: string, slot: number): void {
  tx.prepare('delete from tidemark_retry where token = ? and slot = ?').run(token, slot)
}

function heldMessage(tx: Transaction, lease: LeaseRow, token: string, slot: number): Held {
  if (lease.kind === 'page') return { id: lease.first_id + slot, attempts: 1, version: 1, history: [] }
  const row = requiredRow<Omit<Held, 'history'> & { history: string }>(
    tx.prepare('select id, attempts, version, history from tidemark_retry where token = ? and slot = ?'),
    token,
    slot,
  )
  return { ...row, history: JSON.parse(row.history) as FailedAttempt[] }
}

function putBack(tx: Transaction, lease: LeaseRow, held: Held, dueAt: number): void {
  tx.prepare(`
      insert into tidemark_retry (subscription_id, id, attempts, version, due_at, suspect, history)
      values (?, ?, ?, ?, ?, 0, ?)
      on conflict do update set
        attempts = excluded.attempts, due_at = excluded.due_at, history = excluded.history,
        -- given back untried, it is as suspect as before
        suspect = suspect and excluded.attempts < attempts,
        piece = case when excluded.attempts < attempts then piece end,
        token = null, slot = null`).run(
    lease.subscription_id,
    held.id,
    held.attempts,
    held.version,
    dueAt,
    JSON.stringify(held.history),
  )
}

function bury(tx: Transaction, lease: LeaseRow, held: Held): void {
  const { topic_id, group_name } = requiredRow<{ topic_id: number; group_name: string }>(
    tx.prepare('select topic_id, group_name from tidemark_subscription where id = ?'),
    lease.subscription_id,
  )
  buryMessage(tx, topic_id, { id: lease.subscription_id, group: group_name }, held)
}
