import { randomUUID } from 'node:crypto'
import type { FailedAttempt, FailureRecord } from '../failure-record.ts'
import { MOST_NAMED, type TakenMessage, type TakeOver } from '../leases.ts'
import { pieceAt, pieceCount } from '../pieces.ts'
import type { SubscriptionRecord } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { type Bitmap, hasBit } from './bitmap.ts'
import { completeIds, type GroupBit } from './bits.ts'
import { buryMessage } from './bury-message.ts'
import { requiredRow, rowOf, rowsOf } from './rows.ts'
import { logTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

export type LiveLease = {
  token: string
  consumer: string
  kind: 'page' | 'retry'
  first_id: number
  size: number
  settled: Bitmap | null
}

export type Unsettled = { id: number; attempts: number; version: number; history: FailedAttempt[] }

/** How an unsettled lease ends. */
type End = { readonly now: number; readonly dueAt: number; readonly error: FailureRecord }

/**
 * Takes a live lease away from its holder. Unsettled messages are retried from `dueAt`, as suspects in pieces; past
 * maxAttempts they become dead letters. The lease row stays, so that a late settlement is reported as late.
 */
export function endLease(
  tx: Transaction,
  topic: TopicRecord,
  subscription: Pick<SubscriptionRecord, 'id' | 'group'>,
  lease: LiveLease,
  { now, dueAt, error: { name, message } }: End,
): { taken: TakeOver; dead: number } {
  tx.prepare('update tidemark_lease set expired_at = ? where token = ?').run(now, lease.token)
  const unsettled = unsettledOf(tx, lease)
  const failed = unsettled.map(each => ({
    ...each,
    history: [...each.history, { attempt: each.attempts, at: now, name, message }],
  }))
  const { maxAttempts } = topic.config
  const dead = failed.filter(({ attempts }) => attempts >= maxAttempts)
  for (const each of dead) buryMessage(tx, topic.id, subscription, each)
  completeIds(
    tx,
    placeOf(tx, subscription),
    dead.map(({ id }) => id),
  )
  const taken = failed.filter(({ attempts }) => attempts < maxAttempts)
  const pieces = piecesOf(taken, maxAttempts)
  const suspect = tx.prepare(`
    insert into tidemark_retry (subscription_id, id, attempts, version, due_at, suspect, piece, history)
    values (?, ?, ?, ?, ?, 1, ?, ?)
    on conflict do update set
      due_at = excluded.due_at, suspect = 1, piece = excluded.piece, history = excluded.history, token = null, slot = null`)
  for (const [index, { id, attempts, version, history }] of taken.entries()) {
    suspect.run(subscription.id, id, attempts, version, dueAt, pieces[index] ?? null, JSON.stringify(history))
  }
  const messages = named(tx, topic, taken.slice(0, MOST_NAMED))
  return { taken: { token: lease.token, consumer: lease.consumer, count: taken.length, messages }, dead: dead.length }
}

/** The unsettled messages of a live lease, in slot order. */
export function unsettledOf(tx: Transaction, { token, kind, first_id, size, settled }: LiveLease): Unsettled[] {
  if (kind === 'retry') {
    return rowsOf<Omit<Unsettled, 'history'> & { history: string }>(
      tx.prepare('select id, attempts, version, history from tidemark_retry where token = ? order by slot'),
      token,
    ).map(row => ({ ...row, history: JSON.parse(row.history) as FailedAttempt[] }))
  }
  const unsettled: Unsettled[] = []
  for (let slot = 0; slot < size; slot++) {
    if (!hasBit(settled, slot)) unsettled.push({ id: first_id + slot, attempts: 1, version: 1, history: [] })
  }
  return unsettled
}

/**
 * The piece of each message; null for those on their last attempt. Only messages with equally many attempts left share
 * a piece.
 */
function piecesOf(taken: readonly Unsettled[], maxAttempts: number): (string | null)[] {
  const pieces = new Map<Unsettled, string>()
  for (const [attempts, alike] of Map.groupBy(taken, each => each.attempts)) {
    const left = maxAttempts - attempts
    if (left <= 1) continue
    const names = Array.from({ length: pieceCount(alike.length, left) }, () => randomUUID())
    for (const [place, each] of alike.entries()) {
      pieces.set(each, names[pieceAt(place, alike.length, names.length)] ?? '')
    }
  }
  return taken.map(each => pieces.get(each) ?? null)
}

/** The messages with the parts of their messageIds, for people to read. */
export function named<T extends { readonly id: number; readonly version: number }>(
  tx: Transaction,
  { id: topicId }: TopicRecord,
  messages: readonly T[],
): TakenMessage[] {
  const given = tx.prepare(`select salt, message_id from ${logTable(topicId)} where id = ?`)
  return messages.map(({ id, version }) => {
    const row = rowOf<{ salt: number; message_id: string | null }>(given, id)
    return { id, salt: row?.salt ?? null, messageId: row?.message_id ?? null, version }
  })
}

const placeOf = (tx: Transaction, { id }: Pick<SubscriptionRecord, 'id'>): GroupBit =>
  requiredRow<GroupBit>(tx.prepare('select topic_id, bit from tidemark_subscription where id = ?'), id)
