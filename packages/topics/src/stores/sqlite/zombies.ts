import { SubscriptionGoneError } from '../../errors.ts'
import type { SubscriptionRecord, SubscriptionStatus } from '../subscription-record.ts'
import type { Zombie } from '../subscriptions.ts'
import type { TopicRecord } from '../topic-record.ts'
import { countBits } from './bitmap.ts'
import { unrequire } from './bits.ts'
import { forgetDone } from './done-ranges.ts'
import { backfillLoss, countLost, openBackfill } from './loss.ts'
import { requiredRow, rowOf, rowsOf } from './rows.ts'
import { SUBSCRIPTION_COLUMNS, type SubscriptionRow, toSubscription } from './subscription-rows.ts'
import { logTable, readTopics } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'
import { livePages } from './watermark.ts'

type Row = SubscriptionRow & { cursor: number; moved_at: number; status_at: number; next_id: number }

/**
 * A group is a zombie if it has had messages waiting and has neither moved nor been resumed for the whole zombieTtl. A
 * message that has only just arrived in a quiet topic makes none.
 */
export function listZombies(tx: Transaction): Zombie[] {
  return readTopics(tx).flatMap(topic => {
    const rows = rowsOf<Row>(
      tx.prepare(`
        select ${SUBSCRIPTION_COLUMNS}, cursor, moved_at, status_at,
          (select next_id from tidemark_topic where id = topic_id) as next_id
        from tidemark_subscription
        where topic_id = ?1 and status in ('ACTIVE', 'PAUSED') and max(moved_at, status_at) < ?2`),
      topic.id,
      tx.now() - topic.config.zombieTtlMs,
    )
    return rows
      .filter(row => hasWaitedLong(tx, topic, row))
      .map(row => ({
        topic,
        subscription: toSubscription(topic.id, row),
        movedAt: row.moved_at,
        waiting: row.next_id - 1 - row.cursor + countRetries(tx, row.id),
      }))
  })
}

/** Stepping the clock shifts the due times of retries but not the times of messages: see `clock.ts`. */
function hasWaitedLong(tx: Transaction, topic: TopicRecord, { id, cursor }: Row): boolean {
  const { zombieTtlMs } = topic.config
  const row = requiredRow<{ waits: number }>(
    tx.prepare(`
      select exists (select 1 from ${logTable(topic.id)} where id = ?1 + 1 and created_at < ?3)
        or exists (select 1 from tidemark_retry where subscription_id = ?2 and token is null and due_at < ?4) as waits`),
    cursor,
    id,
    tx.ago(zombieTtlMs),
    tx.now() - zombieTtlMs,
  )
  return row.waits === 1
}

const countRetries = (tx: Transaction, subscriptionId: number): number =>
  requiredRow<{ count: number }>(
    tx.prepare('select count(*) as count from tidemark_retry where subscription_id = ?'),
    subscriptionId,
  ).count

type AdvancedGroup = { id: number; status: SubscriptionStatus; cursor: number; bit: number | null; next_id: number }

/** Call it in a durable transaction. */
export function forceAdvance(tx: Transaction, topic: TopicRecord, subscription: SubscriptionRecord): number {
  const { id } = subscription
  const place = rowOf<AdvancedGroup>(
    tx.prepare(`
      select s.id, s.status, s.cursor, s.bit, t.next_id from tidemark_subscription s join tidemark_topic t on t.id = s.topic_id
      where s.id = ?`),
    id,
  )
  if (place === undefined) throw new SubscriptionGoneError(topic.name, subscription.group)
  const last = place.next_id - 1
  const held = livePages(tx, id).reduce((sum, { size, settled }) => sum + size - countBits(settled), 0)
  const count = last - place.cursor + held + countRetries(tx, id) + endBackfill(tx, topic, place)
  const now = tx.now()
  tx.prepare(`
      update tidemark_lease set expired_at = ? where subscription_id = ? and done_at is null and expired_at is null`).run(
    now,
    id,
  )
  tx.prepare('delete from tidemark_retry where subscription_id = ?').run(id)
  tx.prepare('update tidemark_subscription set cursor = ?1, live_id = ?1, moved_at = ?2 where id = ?3').run(
    last,
    now,
    id,
  )
  unrequire(tx, { topic_id: topic.id, bit: place.bit }, last)
  if (count > 0) countLost(tx, id, count)
  return count
}

function endBackfill(tx: Transaction, topic: TopicRecord, place: AdvancedGroup): number {
  const { id } = place
  forgetDone(tx, id)
  const backfill = openBackfill(tx, id)
  if (backfill === undefined) return 0
  const count = backfillLoss(tx, topic, place, backfill, place.next_id - 1)
  tx.prepare(`
      update tidemark_backfill
      set status = case when status = 'RUNNING' then 'CANCELLED' else status end, cursor_id = checkpoint_id,
        ended_at = coalesce(ended_at, ?2), updated_at = ?2, token = null, lease_until = null
      where subscription_id = ?1`).run(id, tx.now())
  tx.prepare('update tidemark_subscription set backfilling = 0 where id = ?').run(id)
  return count
}
