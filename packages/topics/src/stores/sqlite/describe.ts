import type { BackfillRecord } from '../fan-out-store.ts'
import { ratePerSecond } from '../rate.ts'
import type { GroupDescription, TopicDescription, TopicRecord } from '../store.ts'
import { type BackfillRow, toBackfillRecord } from './backfill-record.ts'
import { type Bitmap, countBits } from './bitmap.ts'
import { type Connection, requiredRow, rowOf, rowsOf } from './connection.ts'
import { createdAt } from './log.ts'
import { SUBSCRIPTION_COLUMNS, type SubscriptionRow } from './subscriptions.ts'
import { watermarkOf } from './watermark.ts'

export type Group = SubscriptionRow & {
  cursor: number
  created_at: number
  moved_at: number
  last_heartbeat_at: number
  misses: number
  processed: number
  failed: number
  filtered: number
  minute: number
  minute_count: number
  previous_count: number
  lost: number
  lost_at: number | null
}
type LiveLease = { size: number; settled: Bitmap | null }
type Bounds = { first_id: number; next_id: number }

const GROUPS = `
  select ${SUBSCRIPTION_COLUMNS}, cursor, created_at, moved_at, last_heartbeat_at, misses, processed, failed, filtered,
    minute, minute_count, previous_count, lost, lost_at
  from tidemark_subscription
  where topic_id = ?
  order by group_name`

/** Reads positions, leases and retries; of the log, one row a group. */
export function describeTopic(connection: Connection, topic: TopicRecord): TopicDescription {
  const bounds = boundsOf(connection, topic)
  const now = connection.now()
  return {
    messagesPublished: bounds.next_id - 1,
    now,
    groups: rowsOf<Group>(connection.prepare(GROUPS), topic.id).map(group =>
      describeGroup(connection, topic, group, bounds, now),
    ),
  }
}

export const boundsOf = (connection: Connection, topic: TopicRecord): Bounds =>
  requiredRow<Bounds>(connection.prepare('select first_id, next_id from tidemark_topic where id = ?'), topic.id)

function describeGroup(
  connection: Connection,
  topic: TopicRecord,
  group: Group,
  { first_id, next_id }: Bounds,
  now: number,
): GroupDescription {
  const leases = rowsOf<LiveLease>(
    connection.prepare(`
      select size, settled from tidemark_lease
      where subscription_id = ? and done_at is null and expired_at is null`),
    group.id,
  )
  const { retries } = requiredRow<{ retries: number }>(
    connection.prepare('select count(*) as retries from tidemark_retry where subscription_id = ? and token is null'),
    group.id,
  )
  const { deadLetters } = requiredRow<{ deadLetters: number }>(
    connection.prepare(
      'select count(*) as deadLetters from tidemark_dead_letter where topic_id = ? and group_name = ?',
    ),
    topic.id,
    group.group_name,
  )
  const backfill = backfillOf(connection, group)
  const cursor = Math.max(group.cursor, first_id - 1)
  return {
    group: group.group_name,
    status: group.status,
    watermark: BigInt(watermarkOf(connection, group)),
    backlog: next_id - 1 - cursor,
    oldestWaitingAt: createdAt(connection, topic.id, cursor + 1) ?? null,
    inFlight: leases.reduce((sum, lease) => sum + lease.size - countBits(lease.settled), 0),
    retries,
    deadLetters,
    epoch: group.epoch,
    heartbeat: {
      intervalMs: group.heartbeat_interval_ms,
      timeoutMs: group.heartbeat_timeout_ms,
      deadAfterMisses: group.dead_after_misses,
      lastAt: group.last_heartbeat_at,
      misses: group.misses,
    },
    createdAt: group.created_at,
    movedAt: group.moved_at,
    processed: group.processed,
    failed: group.failed,
    filtered: group.filtered,
    rate: ratePerSecond(
      { minute: group.minute, minuteCount: group.minute_count, previousCount: group.previous_count },
      now,
    ),
    lost: group.lost,
    lostAt: group.lost_at,
    backfill,
  }
}

function backfillOf(connection: Connection, group: Group): BackfillRecord | null {
  const row = rowOf<BackfillRow>(
    connection.prepare('select * from tidemark_backfill where subscription_id = ?'),
    group.id,
  )
  return row === undefined ? null : toBackfillRecord(row, group.group_name)
}
