import { InvalidTransitionError } from '../../errors.ts'
import type { Detection } from '../heartbeats.ts'
import type { UnsubscribedTopic } from '../inspection.ts'
import type { SubscriptionOfTopic, SubscriptionRecord } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { wipeBitOf } from './bits.ts'
import { requiredRow, rowOf, rowsOf } from './rows.ts'
import { SUBSCRIPTION_COLUMNS, type SubscriptionRow, toSubscription } from './subscription-rows.ts'
import { logTable, TOPIC_COLUMNS, type TopicRow, toRecord } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

type Silent = SubscriptionRow & { topic_id: number; misses: number; last_heartbeat_at: number }

/** Counts a miss for each full timeout of silence. Call it inside a write transaction. */
export function detectDead(tx: Transaction): Detection {
  const now = tx.now()
  const silent = rowsOf<Silent>(
    tx.prepare(`
      select ${SUBSCRIPTION_COLUMNS}, topic_id, misses + 1 as misses, last_heartbeat_at
      from tidemark_subscription
      where status = 'ACTIVE'
        and last_heartbeat_at < ?1 - heartbeat_timeout_ms
        and (missed_at is null or missed_at < ?1 - heartbeat_timeout_ms)
        and topic_id in (select id from tidemark_topic where json_extract(config, '$.semantics') = 'pub-sub')
      order by id`),
    now,
  )
  const missed: Detection['missed'][number][] = []
  const dead: Detection['dead'][number][] = []
  for (const row of silent) {
    const topic = topicOf(tx, row.topic_id)
    const subscription = toSubscription(row.topic_id, row)
    const isDead = row.misses >= row.dead_after_misses
    tx.prepare('update tidemark_subscription set misses = ?, missed_at = ? where id = ?').run(row.misses, now, row.id)
    if (isDead) {
      bury(tx, row.id, now)
      dead.push({ topic, subscription: { ...subscription, status: 'DEAD' }, silentMs: now - row.last_heartbeat_at })
    } else {
      missed.push({ topic, subscription, misses: row.misses, of: row.dead_after_misses })
    }
  }
  return { missed, dead }
}

/**
 * Its leases expire with it, including those without a deadline; the next consumer takes them over like any expired
 * lease.
 */
function bury(tx: Transaction, id: number, now: number): void {
  tx.prepare("update tidemark_subscription set status = 'DEAD', status_at = ? where id = ?").run(now, id)
  tx.prepare(`
      update tidemark_lease set deadline = ?2 - 1
      where subscription_id = ?1 and done_at is null and expired_at is null and (deadline is null or deadline >= ?2)`).run(
    id,
    now,
  )
}

export function unsubscribedTopics(tx: Transaction): UnsubscribedTopic[] {
  const topics = rowsOf<{ id: number; name: string; first_id: number; next_id: number }>(
    tx.prepare(`
      select t.id, t.name, t.first_id, t.next_id
      from tidemark_topic t
      where json_extract(t.config, '$.semantics') = 'pub-sub' and t.next_id > t.first_id
        and not exists (
          select 1 from tidemark_subscription s where s.topic_id = t.id and s.status in ('ACTIVE', 'PAUSED')
        )
      order by t.name`),
  )
  return topics.flatMap(({ id, name, first_id, next_id }) => {
    const oldest = rowOf<{ created_at: number }>(
      tx.prepare(`select created_at from ${logTable(id)} order by id limit 1`),
    )
    return oldest ? [{ topic: name, messages: next_id - first_id, oldestAt: oldest.created_at }] : []
  })
}

export function endedSubscriptions(tx: Transaction, olderThanMs: number): SubscriptionOfTopic[] {
  const rows = rowsOf<SubscriptionRow & { topic_id: number }>(
    tx.prepare(`
      select ${SUBSCRIPTION_COLUMNS}, topic_id
      from tidemark_subscription
      where status in ('DEAD', 'CANCELLED') and status_at <= ?
        and (bit is null or cleared_epoch = epoch)
      order by id`),
    tx.now() - olderThanMs,
  )
  return rows.map(row => ({
    topic: topicOf(tx, row.topic_id),
    subscription: toSubscription(row.topic_id, row),
  }))
}

/** Its leases and retries are deleted with it. Call it inside a write transaction; repeating it is harmless. */
export function removeSubscription(tx: Transaction, topic: TopicRecord, { id, group }: SubscriptionRecord): void {
  const row = rowOf<{ status: string }>(tx.prepare('select status from tidemark_subscription where id = ?'), id)
  if (row === undefined) return
  if (row.status !== 'DEAD' && row.status !== 'CANCELLED') {
    throw new InvalidTransitionError(topic.name, group, row.status, 'REMOVED')
  }
  wipeBitOf(tx, id)
  // This reads all leases: an index that includes ended ones would slow every claim and every settlement.
  tx.prepare('delete from tidemark_lease where subscription_id = ?').run(id)
  tx.prepare('delete from tidemark_subscription where id = ?').run(id)
}

const topicOf = (tx: Transaction, id: number): TopicRecord =>
  toRecord(requiredRow<TopicRow>(tx.prepare(`select ${TOPIC_COLUMNS} from tidemark_topic where id = ?`), id))
