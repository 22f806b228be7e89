import type { GroupDescription, TopicFacts } from '../inspection.ts'
import type { TopicRecord } from '../topic-record.ts'
import { bitInconsistencies } from './bit-inconsistencies.ts'
import type { DescribedGroup } from './group-rows.ts'
import { boundsOf, firstIdSince, waitingSince } from './log-rows.ts'
import { requiredRow, rowsOf } from './rows.ts'
import { logTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** `groups`: the groups of the topic. */
export function topicFacts(tx: Transaction, topic: TopicRecord, groups: readonly DescribedGroup[]): TopicFacts {
  const held = groups.flatMap(({ description, lowestHeld }) => {
    const at = lowestHeld === undefined || !isLive(description) ? null : waitingSince(tx, topic.id, lowestHeld)
    return at === null ? [] : [at]
  })
  return {
    topic: topic.name,
    createdAt: tx.asOfNow(madeAt(tx, topic)),
    heldAt: held.length === 0 ? null : Math.min(...held),
    inconsistencies: inconsistencies(tx, topic),
    partitions: null,
  }
}

const madeAt = (tx: Transaction, topic: TopicRecord): number =>
  requiredRow<{ at: number }>(tx.prepare('select created_at as at from tidemark_topic where id = ?'), topic.id).at

/** Live leases of groups that do not exist. They belong to no topic. */
export function strayRecords(tx: Transaction): string[] {
  const found = rowsOf<{ consumer: string }>(
    tx.prepare(`
      select l.consumer
      from tidemark_lease l indexed by tidemark_lease_live
      where l.done_at is null and l.expired_at is null
        and not exists (select 1 from tidemark_subscription s where s.id = l.subscription_id)
      limit 10`),
  )
  return found.map(({ consumer }) => `a lease of consumer '${consumer}' belongs to no group`)
}

/** Based on the clock and the watermarks. Ignores what the bitmaps of a reference topic still hold back. */
export function removable(tx: Transaction, topic: TopicRecord, groups: readonly GroupDescription[]): number {
  const live = groups.filter(isLive)
  const { semantics, retentionMs, zeroSubscriptionRetentionMs } = topic.config
  const keepMs = live.length === 0 ? zeroSubscriptionRetentionMs : retentionMs
  if (keepMs === null || (live.length === 0 && semantics === 'queue')) return 0
  const bounds = boundsOf(tx, topic)
  const young = firstIdSince(tx, topic, bounds, tx.ago(keepMs))
  const needed = live.map(({ watermark }) => Number(watermark) + 1)
  return Math.max(0, Math.min(young, ...needed) - bounds.first_id)
}

const isLive = ({ status }: GroupDescription): boolean => status === 'ACTIVE' || status === 'PAUSED'

/** Broken invariants. Each check uses an index. */
function inconsistencies(tx: Transaction, topic: TopicRecord): string[] {
  const { first_id, next_id } = boundsOf(tx, topic)
  const { low, high } = requiredRow<{ low: number | null; high: number | null }>(
    tx.prepare(
      `select (select min(id) from ${logTable(topic.id)}) as low, (select max(id) from ${logTable(topic.id)}) as high`,
    ),
  )
  const found: string[] = []
  if ((low ?? next_id) !== first_id || (high ?? next_id - 1) !== next_id - 1) {
    found.push(`the log has messages ${low} to ${high}, and should have ${first_id} to ${next_id - 1}`)
  }
  const ahead = rowsOf<{ name: string }>(
    tx.prepare('select group_name as name from tidemark_subscription where topic_id = ? and cursor >= ?'),
    topic.id,
    next_id,
  )
  for (const { name } of ahead) found.push(`group '${name}' has a cursor beyond the last message`)
  const retries = rowsOf<{ name: string; id: number }>(
    tx.prepare(`
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
    tx.prepare(`
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
  return [...found, ...bitInconsistencies(tx, topic)]
}
