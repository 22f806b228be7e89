import { SubscriptionGoneError } from '../../errors.ts'
import type { BackfillStatus } from '../backfills.ts'
import type { CleanUpStep } from '../log.ts'
import type { SubscriptionRecord, SubscriptionStatus } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { type Bitmap, countBits, emptyBitmap, hasBit, setBit } from './bitmap.ts'
import { countUndone } from './done-ranges.ts'
import { heldIds } from './held-ids.ts'
import { requiredRow, rowOf, rowsOf } from './rows.ts'
import { hasTable, trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'
import { livePages } from './watermark.ts'

type Group = { id: number; group_name: string; status: SubscriptionStatus; cursor: number; bit: number | null }
type Held = { size: number; settled: Bitmap | null }

/**
 * The messages from `first` to `last` are being removed. Settles whatever any group still had to do with them. For a
 * live group that counts as lost; for a dead one it is recorded until it is resurrected. Call it in the transaction
 * that removes them, before their bitmaps are deleted.
 */
export function takeFromGroups(tx: Transaction, topic: TopicRecord, first: number, last: number): CleanUpStep['lost'] {
  const groups = rowsOf<Group>(
    tx.prepare(`
      select id, group_name, status, cursor, bit from tidemark_subscription where topic_id = ? order by group_name`),
    topic.id,
  )
  return groups.flatMap(group => {
    // The backfill first: held messages do not belong to it.
    const backfilled = skipBackfill(tx, topic, group, last)
    const count =
      backfilled + skipUnclaimed(tx, group, first, last) + settlePages(tx, group, last) + dropRetries(tx, group, last)
    if (count === 0 || group.status === 'CANCELLED') return []
    if (group.status === 'DEAD') {
      noteLost(tx, group.id, count)
      return []
    }
    countLost(tx, group.id, count)
    return [{ group: group.group_name, count }]
  })
}

/** Reported when the group is resurrected. */
function noteLost(tx: Transaction, subscriptionId: number, count: number): void {
  tx.prepare('update tidemark_subscription set lost_dead = lost_dead + ? where id = ?').run(count, subscriptionId)
}

/** Adds the losses recorded for a resurrected group to its count, and returns them. */
export function tellLost(tx: Transaction, subscriptionId: number): number {
  const { lost } = requiredRow<{ lost: number }>(
    tx.prepare('select lost_dead as lost from tidemark_subscription where id = ?'),
    subscriptionId,
  )
  if (lost === 0) return 0
  tx.prepare('update tidemark_subscription set lost_dead = 0 where id = ?').run(subscriptionId)
  countLost(tx, subscriptionId, lost)
  return lost
}

/** Returns how many were not acknowledged before. Call it inside a write transaction. */
export function acknowledgeLoss(tx: Transaction, topic: TopicRecord, { id, group }: SubscriptionRecord): number {
  const row = rowOf<{ open: number }>(
    tx.prepare('select lost - lost_acknowledged as open from tidemark_subscription where id = ?'),
    id,
  )
  if (row === undefined) throw new SubscriptionGoneError(topic.name, group)
  tx.prepare('update tidemark_subscription set lost_acknowledged = lost where id = ?').run(id)
  return row.open
}

export function countLost(tx: Transaction, subscriptionId: number, count: number): void {
  tx.prepare('update tidemark_subscription set lost = lost + ?, lost_at = ? where id = ?').run(
    count,
    tx.now(),
    subscriptionId,
  )
}

function skipUnclaimed(tx: Transaction, { id, cursor }: Group, first: number, last: number): number {
  if (cursor >= last) return 0
  // The group itself has not moved: moved_at stays.
  tx.prepare('update tidemark_subscription set cursor = ? where id = ?').run(last, id)
  return last - Math.max(cursor, first - 1)
}

/** A later settlement of them finds them settled, and succeeds. */
function settlePages(tx: Transaction, { id }: Group, last: number): number {
  let count = 0
  for (const page of livePages(tx, id)) {
    if (page.first_id > last) continue
    const slots = Array.from({ length: Math.min(page.size, last - page.first_id + 1) }, (_, slot) => slot)
    count += settleSlots(tx, page.token, page, slots)
  }
  return count
}

function dropRetries(tx: Transaction, { id }: Group, last: number): number {
  const gone = rowsOf<{ token: string | null; slot: number | null }>(
    tx.prepare('delete from tidemark_retry where subscription_id = ? and id <= ? returning token, slot'),
    id,
    last,
  )
  const held = Map.groupBy(gone, ({ token }) => token)
  for (const [token, rows] of held) {
    if (token === null) continue
    const lease = requiredRow<Held>(tx.prepare('select size, settled from tidemark_lease where token = ?'), token)
    settleSlots(
      tx,
      token,
      lease,
      rows.map(({ slot }) => slot ?? 0),
    )
  }
  return gone.length
}

/** Returns how many of the slots were not settled yet. */
function settleSlots(tx: Transaction, token: string, lease: Held, slots: readonly number[]): number {
  const settled = lease.settled ? Uint8Array.from(lease.settled) : emptyBitmap(lease.size)
  const open = slots.filter(slot => !hasBit(settled, slot))
  for (const slot of open) setBit(settled, slot)
  if (open.length > 0) {
    const doneAt = countBits(settled) === lease.size ? tx.now() : null
    tx.prepare('update tidemark_lease set settled = ?, done_at = ? where token = ?').run(
      doneAt === null ? settled : null,
      doneAt,
      token,
    )
  }
  return open.length
}

/** Skips what the backfill has not delivered. */
function skipBackfill(tx: Transaction, topic: TopicRecord, group: Group, last: number): number {
  const backfill = openBackfill(tx, group.id)
  if (backfill === undefined || backfill.cursor_id >= Math.min(last, backfill.upper_id)) return 0
  const count = backfillLoss(tx, topic, group, backfill, last)
  tx.prepare(`
      update tidemark_backfill
      set cursor_id = min(?1, upper_id), checkpoint_id = max(checkpoint_id, min(?1, upper_id)) where subscription_id = ?2`).run(
    last,
    group.id,
  )
  return count
}

export type OpenBackfill = { cursor_id: number; checkpoint_id: number; upper_id: number; status: BackfillStatus }

/** A backfill that still has something to deliver. */
export const openBackfill = (tx: Transaction, subscriptionId: number): OpenBackfill | undefined =>
  rowOf<OpenBackfill>(
    tx.prepare(`
      select cursor_id, checkpoint_id, upper_id, status from tidemark_backfill
      where subscription_id = ? and (status = 'RUNNING' or cursor_id < checkpoint_id)`),
    subscriptionId,
  )

/** The highest id that it will deliver without intervention. */
export const lastOf = ({ status, upper_id, checkpoint_id }: OpenBackfill): number =>
  status === 'RUNNING' ? upper_id : checkpoint_id

/**
 * Messages up to `last` that a backfill has not delivered. For a live group those that were marked for it; what the
 * backfill has not reached was never promised. For a dead one, whose bits may be cleared, everything it has neither
 * completed nor holds.
 */
export function backfillLoss(
  tx: Transaction,
  { id: topicId }: { readonly id: number },
  group: Pick<Group, 'id' | 'status' | 'bit'>,
  backfill: OpenBackfill,
  last: number,
): number {
  if (group.status === 'DEAD') {
    return countUndone(tx, topicId, group, backfill.cursor_id, Math.min(last, lastOf(backfill)))
  }
  if (group.bit === null || !hasTable(tx, trackTable(topicId))) return 0
  const upTo = Math.min(last, backfill.checkpoint_id)
  const { count } = requiredRow<{ count: number }>(
    tx.prepare(`
      select count(*) as count from ${trackTable(topicId)}
      where id > ?1 and id <= ?2 and required & ~completed & (1 << ?3) <> 0 and id not in (select value from json_each(?4))`),
    backfill.cursor_id,
    upTo,
    group.bit,
    JSON.stringify(heldIds(tx, group.id, backfill.cursor_id + 1, upTo)),
  )
  return count
}
