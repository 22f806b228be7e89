import type { TopicFacts } from '../fan-out-store.ts'
import type { GroupDescription, TopicRecord } from '../store.ts'
import { type Connection, requiredRow, rowOf, rowsOf } from './connection.ts'
import { boundsOf, describeTopic } from './describe.ts'
import { createdAt, firstIdSince } from './log.ts'
import { logTable } from './topics.ts'

export function topicFacts(connection: Connection, topic: TopicRecord): TopicFacts {
  const { first_id, next_id } = boundsOf(connection, topic)
  const { groups, now } = describeTopic(connection, topic)
  const live = groups.filter(({ status }) => status === 'ACTIVE' || status === 'PAUSED')
  const unprocessed = live.flatMap(({ watermark }) => {
    const at = createdAt(connection, topic.id, Math.max(Number(watermark) + 1, first_id))
    return at === undefined ? [] : [at]
  })
  return {
    oldestAt: createdAt(connection, topic.id, first_id) ?? null,
    newestAt: createdAt(connection, topic.id, next_id - 1) ?? null,
    retained: next_id - first_id,
    oldestUnprocessedAt: unprocessed.length === 0 ? null : Math.min(...unprocessed),
    removable: removable(connection, topic, live, now),
    inconsistencies: inconsistencies(connection, topic),
  }
}

/** By the clock and the watermarks. What the bitmaps of a reference topic still hold back is not looked at. */
function removable(connection: Connection, topic: TopicRecord, live: readonly GroupDescription[], now: number): number {
  const { semantics, retentionMs, zeroSubscriptionRetentionMs } = topic.config
  if (retentionMs === null || (live.length === 0 && semantics === 'queue')) return 0
  const bounds = boundsOf(connection, topic)
  const keepMs = live.length === 0 ? zeroSubscriptionRetentionMs : retentionMs
  const young = firstIdSince(connection, topic, bounds, now - keepMs)
  const needed = live.map(({ watermark }) => Number(watermark) + 1)
  return Math.max(0, Math.min(young, ...needed) - bounds.first_id)
}

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
      from tidemark_subscription s
      join tidemark_retry r on r.subscription_id = s.id and r.token is not null
      left join tidemark_lease l on l.token = r.token
      where s.topic_id = ? and (l.token is null or l.done_at is not null or l.expired_at is not null)
      limit 10`),
    topic.id,
  )
  for (const { name, id } of held) found.push(`message ${id} of group '${name}' is held by a lease that has ended`)
  return [...found, ...unknownBits(connection, topic)]
}

/** Among the newest: bits of groups that neither exist nor are being wiped. */
function unknownBits(connection: Connection, topic: TopicRecord): string[] {
  const table = `tidemark_track_${topic.id}`
  const exists = rowOf(connection.prepare("select 1 from sqlite_schema where type = 'table' and name = ?"), table)
  if (exists === undefined) return []
  const bits = rowsOf<{ bit: number }>(
    connection.prepare(`
      select bit from tidemark_subscription where topic_id = ?1 and bit is not null
      union all
      select bit from tidemark_bit_wipe where topic_id = ?1`),
    topic.id,
  )
  const known = BigInt.asIntN(
    64,
    bits.reduce((sum, { bit }) => sum | (1n << BigInt(bit)), 0n),
  )
  return rowsOf<{ id: number }>(
    connection.prepare(`
      select id from (select id, required from ${table} order by id desc limit 1000)
      where required & ~? <> 0
      limit 10`),
    known,
  ).map(({ id }) => `message ${id} waits for a group that does not exist`)
}
