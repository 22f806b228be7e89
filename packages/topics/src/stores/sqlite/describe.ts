import type { GroupDescription, SubscriptionStatus, TopicDescription, TopicRecord } from '../store.ts'
import { type Bitmap, countBits } from './bitmap.ts'
import { type Connection, requiredRow, rowsOf } from './connection.ts'
import { watermarkOf } from './watermark.ts'

type Group = { id: number; group_name: string; status: SubscriptionStatus; cursor: number }
type LiveLease = { size: number; settled: Bitmap | null }

/** Reads positions, leases and retries; never the log. */
export function describeTopic(connection: Connection, topic: TopicRecord): TopicDescription {
  const { next_id } = requiredRow<{ next_id: number }>(
    connection.prepare('select next_id from tidemark_topic where id = ?'),
    topic.id,
  )
  const groups = rowsOf<Group>(
    connection.prepare(
      'select id, group_name, status, cursor from tidemark_subscription where topic_id = ? order by group_name',
    ),
    topic.id,
  )
  return {
    messagesPublished: next_id - 1,
    groups: groups.map(group => describeGroup(connection, topic, group, next_id)),
  }
}

function describeGroup(connection: Connection, topic: TopicRecord, group: Group, nextId: number): GroupDescription {
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
  return {
    group: group.group_name,
    status: group.status,
    watermark: BigInt(watermarkOf(connection, group)),
    backlog: nextId - 1 - group.cursor,
    inFlight: leases.reduce((sum, lease) => sum + lease.size - countBits(lease.settled), 0),
    retries,
    deadLetters,
  }
}
