import { SubscriptionGoneError } from '../../errors.ts'
import type { Zombie } from '../fan-out-store.ts'
import type { SubscriptionRecord, SubscriptionStatus, TopicRecord } from '../store.ts'
import { countBits } from './bitmap.ts'
import { unrequire } from './bits.ts'
import { type Connection, requiredRow, rowOf, rowsOf } from './connection.ts'
import { forgetDone } from './done-ranges.ts'
import { backfillLoss, countLost, openBackfill } from './loss.ts'
import { SUBSCRIPTION_COLUMNS, type SubscriptionRow, toSubscription } from './subscriptions.ts'
import { logTable, readTopics } from './topics.ts'
import { livePages } from './watermark.ts'

type Row = SubscriptionRow & { cursor: number; moved_at: number; status_at: number; next_id: number }

/**
 * A group is a zombie when something has waited for it, and it has neither moved nor been resumed, for the whole
 * zombieTtl: a message that has only just come to a quiet topic makes none.
 */
export function listZombies(connection: Connection): Zombie[] {
  return readTopics(connection).flatMap(topic => {
    const rows = rowsOf<Row>(
      connection.prepare(`
        select ${SUBSCRIPTION_COLUMNS}, cursor, moved_at, status_at,
          (select next_id from tidemark_topic where id = topic_id) as next_id
        from tidemark_subscription
        where topic_id = ?1 and status in ('ACTIVE', 'PAUSED') and max(moved_at, status_at) < ?2`),
      topic.id,
      connection.now() - topic.config.zombieTtlMs,
    )
    return rows
      .filter(row => hasWaitedSince(connection, topic, row, connection.ago(topic.config.zombieTtlMs)))
      .map(row => ({
        topic,
        subscription: toSubscription(topic.id, row),
        movedAt: row.moved_at,
        waiting: row.next_id - 1 - row.cursor + countRetries(connection, row.id),
      }))
  })
}

function hasWaitedSince(connection: Connection, topic: TopicRecord, { id, cursor }: Row, since: number): boolean {
  const row = requiredRow<{ waits: number }>(
    connection.prepare(`
      select exists (select 1 from ${logTable(topic.id)} where id = ?1 + 1 and created_at < ?3)
        or exists (select 1 from tidemark_retry where subscription_id = ?2 and token is null and due_at < ?3) as waits`),
    cursor,
    id,
    since,
  )
  return row.waits === 1
}

const countRetries = (connection: Connection, subscriptionId: number): number =>
  requiredRow<{ count: number }>(
    connection.prepare('select count(*) as count from tidemark_retry where subscription_id = ?'),
    subscriptionId,
  ).count

type Place = { id: number; status: SubscriptionStatus; cursor: number; bit: number | null; next_id: number }

/** To be called in a durable transaction. */
export function forceAdvance(connection: Connection, topic: TopicRecord, subscription: SubscriptionRecord): number {
  const { id } = subscription
  const place = rowOf<Place>(
    connection.prepare(`
      select s.id, s.status, s.cursor, s.bit, t.next_id from tidemark_subscription s join tidemark_topic t on t.id = s.topic_id
      where s.id = ?`),
    id,
  )
  if (place === undefined) throw new SubscriptionGoneError(topic.name, subscription.group)
  const last = place.next_id - 1
  const held = livePages(connection, id).reduce((sum, { size, settled }) => sum + size - countBits(settled), 0)
  const count = last - place.cursor + held + countRetries(connection, id) + endBackfill(connection, topic, place)
  const now = connection.now()
  connection
    .prepare(`
      update tidemark_lease set expired_at = ? where subscription_id = ? and done_at is null and expired_at is null`)
    .run(now, id)
  connection.prepare('delete from tidemark_retry where subscription_id = ?').run(id)
  connection
    .prepare('update tidemark_subscription set cursor = ?1, live_id = ?1, moved_at = ?2 where id = ?3')
    .run(last, now, id)
  unrequire(connection, { topic_id: topic.id, bit: place.bit }, last)
  if (count > 0) countLost(connection, id, count)
  return count
}

function endBackfill(connection: Connection, topic: TopicRecord, place: Place): number {
  const { id } = place
  forgetDone(connection, id)
  const backfill = openBackfill(connection, id)
  if (backfill === undefined) return 0
  const count = backfillLoss(connection, topic, place, backfill, place.next_id - 1)
  connection
    .prepare(`
      update tidemark_backfill
      set status = case when status = 'RUNNING' then 'CANCELLED' else status end, cursor_id = checkpoint_id,
        ended_at = coalesce(ended_at, ?2), updated_at = ?2, token = null, lease_until = null
      where subscription_id = ?1`)
    .run(id, connection.now())
  connection.prepare('update tidemark_subscription set backfilling = 0 where id = ?').run(id)
  return count
}
