import type { TopicFacts } from '../fan-out-store.ts'
import type { GroupDescription, TopicRecord } from '../store.ts'
import { bitInconsistencies } from './bit-inconsistencies.ts'
import { type Connection, requiredRow, rowsOf } from './connection.ts'
import { describeGroups } from './group-rows.ts'
import { boundsOf, createdAt, firstIdSince, waitingSince } from './log.ts'
import { logTable } from './topics.ts'

export function topicFacts(connection: Connection, topic: TopicRecord): TopicFacts {
  const { first_id, next_id } = boundsOf(connection, topic)
  const groups = describeGroups(connection, { topicId: topic.id, most: 1 }, connection.now())
  const unprocessed = groups
    .filter(({ description }) => isLive(description))
    .flatMap(({ description, lowestHeld }) => {
      const heldAt = lowestHeld === undefined ? null : waitingSince(connection, topic.id, lowestHeld)
      return [description.oldestWaitingAt, heldAt].filter(at => at !== null)
    })
  return {
    createdAt: connection.asOfNow(madeAt(connection, topic)),
    oldestAt: createdAt(connection, topic.id, first_id) ?? null,
    newestAt: createdAt(connection, topic.id, next_id - 1) ?? null,
    retained: next_id - first_id,
    oldestUnprocessedAt: unprocessed.length === 0 ? null : Math.min(...unprocessed),
    removable: removable(
      connection,
      topic,
      groups.map(({ description }) => description),
    ),
    inconsistencies: inconsistencies(connection, topic),
  }
}

const madeAt = (connection: Connection, topic: TopicRecord): number =>
  requiredRow<{ at: number }>(connection.prepare('select created_at as at from tidemark_topic where id = ?'), topic.id)
    .at

/** By the clock and the watermarks. What the bitmaps of a reference topic still hold back is not looked at. */
export function removable(connection: Connection, topic: TopicRecord, groups: readonly GroupDescription[]): number {
  const live = groups.filter(isLive)
  const { semantics, retentionMs, zeroSubscriptionRetentionMs } = topic.config
  const keepMs = live.length === 0 ? zeroSubscriptionRetentionMs : retentionMs
  if (keepMs === null || (live.length === 0 && semantics === 'queue')) return 0
  const bounds = boundsOf(connection, topic)
  const young = firstIdSince(connection, topic, bounds, connection.ago(keepMs))
  const needed = live.map(({ watermark }) => Number(watermark) + 1)
  return Math.max(0, Math.min(young, ...needed) - bounds.first_id)
}

const isLive = ({ status }: GroupDescription): boolean => status === 'ACTIVE' || status === 'PAUSED'

/** What must never be. Each look is an index's. */
function inconsistencies(connection: Connection, topic: TopicRecord): string[] {
  const { first_id, next_id } = boundsOf(connection, topic)
  const { low, high } = requiredRow<{ low: number | null; high: number | null }>(
    connection.prepare(
      `select (select min(id) from ${logTable(topic.id)}) as low, (select max(id) from ${logTable(topic.id)}) as high`,
    ),
  )
  const found: string[] = []
  if ((low ?? next_id) !== first_id || (high ?? next_id - 1) !== next_id - 1) {
    found.push(`the log has messages ${low} to ${high}, and should have ${first_id} to ${next_id - 1}`)
  }
  const ahead = rowsOf<{ name: string }>(
    connection.prepare('select group_name as name from tidemark_subscription where topic_id = ? and cursor >= ?'),
    topic.id,
    next_id,
  )
  for (const { name } of ahead) found.push(`group '${name}' has a cursor beyond the last message`)
  const retries = rowsOf<{ name: string; id: number }>(
    connection.prepare(`
      select name, highest as id from (
        select s.group_name as name, (select max(r.id) from tidemark_retry r where r.subscription_id = s.id) as highest
        from tidemark_subscription s
        where s.topic_id = ?
      )
      where highest >= ?`),
    topic.id,
    next_id,
  )
  for (const { name, id } of retries)
    found.push(`group '${name}' has a retry of message ${id}, which was never published`)
  const held = rowsOf<{ name: string; id: number }>(
    connection.prepare(`
      select s.group_name as name, r.id
      -- what is in flight, not all that waits to be tried again
      from tidemark_retry r indexed by tidemark_retry_leased
      cross join tidemark_subscription s on s.id = r.subscription_id
      left join tidemark_lease l on l.token = r.token
      where r.token is not null and s.topic_id = ? and (l.token is null or l.done_at is not null or l.expired_at is not null)
      limit 10`),
    topic.id,
  )
  for (const { name, id } of held) found.push(`message ${id} of group '${name}' is held by a lease that has ended`)
  return [...found, ...bitInconsistencies(connection, topic)]
}
