import { InvalidTransitionError, PositionGoneError, SubscriptionGoneError } from '../../errors.ts'
import { messageIdOf } from '../../payload/message-id.ts'
import type { BackfillPlan } from '../backfills.ts'
import type { StartPosition, SubscriptionRecord } from '../subscription-record.ts'
import type { CountedRange, RangeEnd, ResetPreviewRecord } from '../subscriptions.ts'
import type { TopicRecord } from '../topic-record.ts'
import { beginBackfill } from './begin-backfill.ts'
import { unrequire } from './bits.ts'
import { forgetDone } from './done-ranges.ts'
import { boundsOf, readOne } from './log-rows.ts'
import { cursorAt, idOf, newestAfter } from './positions.ts'
import { rowOf } from './rows.ts'
import { logTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/**
 * Moves the cursor to a start position, as subscribe does for a new group. The group's leases end without creating
 * retries, and late settlements of them are reported as stale.
 */
export function resetCursor(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  to: StartPosition,
  plan: BackfillPlan,
): void {
  const row = resettable(tx, topic, subscription, to)
  const first = cursorAt(tx, topic, to)
  const cursor = row.bit === null ? newestAfter(tx, topic, first, plan.maxMessages) : first
  const now = tx.now()
  tx.prepare(`
      update tidemark_lease set expired_at = ?
      where subscription_id = ? and done_at is null and expired_at is null`).run(now, subscription.id)
  tx.prepare('delete from tidemark_retry where subscription_id = ?').run(subscription.id)
  tx.prepare(`
      update tidemark_subscription
      set cursor = ?1, start_id = ?1, epoch = epoch + 1, moved_at = ?2,
        live_id = (select next_id - 1 from tidemark_topic t where t.id = topic_id)
      where id = ?3`).run(cursor, now, subscription.id)
  forgetDone(tx, subscription.id)
  // An earlier backfill of a group without a bit (by offset, or dead) no longer matters.
  tx.prepare('delete from tidemark_backfill where subscription_id = ? and ? is null').run(subscription.id, row.bit)
  if (row.bit === null) return
  // With reference tracking the live stream continues from the present, and a backfill delivers what lies before.
  unrequire(tx, row, Number.MAX_SAFE_INTEGER)
  beginBackfill(tx, subscription.id, { lowerId: cursor, plan, again: true })
}

/** What `resetCursor` would do. Call it in a read transaction. */
export function previewReset(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  to: StartPosition,
): ResetPreviewRecord {
  const { cursor } = resettable(tx, topic, subscription, to)
  const { first_id, next_id } = boundsOf(tx, topic)
  const fromId = Math.max(cursor, first_id - 1)
  const toId = cursorAt(tx, topic, to)
  return {
    fromId,
    toId,
    between: rangeAfter(tx, topic, Math.min(fromId, toId), Math.max(fromId, toId)),
    waiting: rangeAfter(tx, topic, toId, next_id - 1),
  }
}

/** Ids have no gaps, so they count the messages. */
function rangeAfter(tx: Transaction, topic: TopicRecord, after: number, last: number): CountedRange {
  const endAt = (id: number): RangeEnd | null =>
    rowOf<RangeEnd>(tx.prepare(`select id, created_at as at, key from ${logTable(topic.id)} where id = ?`), id) ?? null
  if (last <= after) return { count: 0, isExact: true, first: null, last: null }
  return { count: last - after, isExact: true, first: endAt(after + 1), last: endAt(last) }
}

type ResettableRow = {
  readonly status: string
  readonly topic_id: number
  readonly bit: number | null
  readonly cursor: number
}

function resettable(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  to: StartPosition,
): ResettableRow {
  const row = rowOf<ResettableRow>(
    tx.prepare('select status, topic_id, bit, cursor from tidemark_subscription where id = ?'),
    subscription.id,
  )
  if (row === undefined) throw new SubscriptionGoneError(topic.name, subscription.group)
  if (row.status === 'CANCELLED') {
    throw new InvalidTransitionError(topic.name, subscription.group, 'CANCELLED', 'ACTIVE')
  }
  refuseGone(tx, topic, to)
  return row
}

/** Ids have no gaps, so everything below the first one existed once. */
function refuseGone(tx: Transaction, topic: TopicRecord, to: StartPosition): void {
  if (typeof to === 'string') return
  const { first_id, next_id } = boundsOf(tx, topic)
  if (first_id === 1) return
  const row = readOne(tx, topic.id, first_id)
  const oldest = row && {
    messageId: row.messageId ?? messageIdOf(topic.uid, row.salt, row.id),
    createdAt: new Date(row.createdAt),
  }
  if ('timestamp' in to) {
    // If nothing is retained, the times of removed messages are unknown, but they are in the past.
    const isGone = row ? to.timestamp < row.createdAt : to.timestamp <= lastCreatedAt(tx, topic)
    if (isGone) throw new PositionGoneError(topic.name, new Date(to.timestamp).toISOString(), oldest ?? null)
    return
  }
  const id = idOf(tx, topic, to.messageId)
  if (id !== undefined && id < first_id && id < next_id) {
    throw new PositionGoneError(topic.name, `Message '${to.messageId}'`, oldest ?? null)
  }
}

const lastCreatedAt = (tx: Transaction, topic: TopicRecord): number =>
  rowOf<{ last_created_at: number }>(tx.prepare('select last_created_at from tidemark_topic where id = ?'), topic.id)
    ?.last_created_at ?? 0
