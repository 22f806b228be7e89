import { InvalidTransitionError, PositionGoneError, SubscriptionGoneError } from '../../errors.ts'
import { messageIdOf } from '../../message-id.ts'
import type { BackfillPlan } from '../fan-out-store.ts'
import type { StartPosition, SubscriptionRecord, TopicRecord } from '../store.ts'
import { beginBackfill } from './backfills.ts'
import { unrequire } from './bits.ts'
import { type Connection, rowOf } from './connection.ts'
import { forgetDone } from './done-ranges.ts'
import { boundsOf, readOne } from './log.ts'
import { cursorAt, idOf, newestAfter } from './subscriptions.ts'

/**
 * Places the cursor anew, as subscribe does for a new group. What the group held is let go: its leases end without
 * retries, so that a late settlement is told so.
 */
export async function resetCursor(
  connection: Connection,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  to: StartPosition,
  plan: BackfillPlan,
): Promise<void> {
  await connection.writeUnlessHeld(() => {
    const row = rowOf<{ status: string; topic_id: number; bit: number | null }>(
      connection.prepare('select status, topic_id, bit from tidemark_subscription where id = ?'),
      subscription.id,
    )
    if (row === undefined) throw new SubscriptionGoneError(topic.name, subscription.group)
    if (row.status === 'CANCELLED') {
      throw new InvalidTransitionError(topic.name, subscription.group, 'CANCELLED', 'ACTIVE')
    }
    refuseGone(connection, topic, to)
    const first = cursorAt(connection, topic, to)
    const cursor = row.bit === null ? newestAfter(connection, topic, first, plan.maxMessages) : first
    const now = connection.now()
    connection
      .prepare(`
        update tidemark_lease set expired_at = ?
        where subscription_id = ? and done_at is null and expired_at is null`)
      .run(now, subscription.id)
    connection.prepare('delete from tidemark_retry where subscription_id = ?').run(subscription.id)
    connection
      .prepare(`
        update tidemark_subscription
        set cursor = ?1, start_id = ?1, epoch = epoch + 1, moved_at = ?2,
          live_id = (select next_id - 1 from tidemark_topic t where t.id = topic_id)
        where id = ?3`)
      .run(cursor, now, subscription.id)
    forgetDone(connection, subscription.id)
    // Of one without a bit, by offset or dead, an earlier backfill has nothing to say any more.
    connection
      .prepare('delete from tidemark_backfill where subscription_id = ? and ? is null')
      .run(subscription.id, row.bit)
    if (row.bit === null) return
    // By reference the live stream goes on at the present, and a backfill brings what lies between.
    unrequire(connection, row, Number.MAX_SAFE_INTEGER)
    beginBackfill(connection, subscription.id, { lowerId: cursor, plan, again: true })
  })
}

/** Ids have no gaps: what lies below the first was there once. */
function refuseGone(connection: Connection, topic: TopicRecord, to: StartPosition): void {
  if (typeof to === 'string') return
  const { first_id, next_id } = boundsOf(connection, topic)
  if (first_id === 1) return
  const row = readOne(connection, topic.id, first_id)
  const oldest = row && {
    messageId: row.messageId ?? messageIdOf(topic.uid, row.salt, row.id),
    createdAt: new Date(row.createdAt),
  }
  if ('timestamp' in to) {
    // With nothing kept, the time of what was removed is unknown, but not that it is past.
    const isGone = row ? to.timestamp < row.createdAt : to.timestamp <= lastCreatedAt(connection, topic)
    if (isGone) throw new PositionGoneError(topic.name, new Date(to.timestamp).toISOString(), oldest ?? null)
    return
  }
  const id = idOf(connection, topic, to.messageId)
  if (id !== undefined && id < first_id && id < next_id) {
    throw new PositionGoneError(topic.name, `Message '${to.messageId}'`, oldest ?? null)
  }
}

const lastCreatedAt = (connection: Connection, topic: TopicRecord): number =>
  rowOf<{ last_created_at: number }>(
    connection.prepare('select last_created_at from tidemark_topic where id = ?'),
    topic.id,
  )?.last_created_at ?? 0
