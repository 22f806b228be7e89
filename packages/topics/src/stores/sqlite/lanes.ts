import {
  type GroupMarks,
  type LanesQuery,
  type LanesRecord,
  type LeaseMark,
  type LogBucket,
  positionsOf,
} from '../lanes.ts'
import type { TopicRecord } from '../topic-record.ts'
import { type DescribedGroup, describeGroups } from './group-rows.ts'
import { boundsOf } from './log-rows.ts'
import { rowsOf } from './rows.ts'
import { logTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** Retries and dead letters that are counted per group. */
const MOST_COUNTED = 10_000

/** Call it in a read transaction. */
export function readLanes(tx: Transaction, topic: TopicRecord, query: LanesQuery): LanesRecord {
  const { first_id, next_id, config_version } = boundsOf(tx, topic)
  const low = Math.max(query.from ?? first_id, first_id)
  const high = Math.min(query.to ?? next_id - 1, next_id - 1)
  const now = tx.now()
  const groups = describeGroups(tx, { topicId: topic.id, most: MOST_COUNTED }, now)
  const leases = leaseMarks(tx, topic)
  return {
    now,
    configVersion: config_version,
    firstId: first_id < next_id ? first_id : null,
    lastId: next_id - 1,
    buckets: bucketsOf(tx, topic, low, high, query.buckets),
    groups: groups.map(group => ({
      ...group.description,
      ...marksOf(tx, topic, group, { low, high, most: query.most }),
      leases: (leases.get(group.id) ?? []).slice(0, query.most),
    })),
  }
}

/** Ids have no gaps, so only the times are read. */
function bucketsOf(tx: Transaction, topic: TopicRecord, low: number, high: number, buckets: number): LogBucket[] {
  const positions = positionsOf(low, high, buckets)
  const rows = rowsOf<{ position: number; at: number | null }>(
    tx.prepare(`
      select j.value as position, (select l.created_at from ${logTable(topic.id)} l where l.id = j.value) as at
      from json_each(?) j`),
    JSON.stringify(positions),
  )
  return rows.map(({ position, at }, n) => ({ position, at, count: (positions[n + 1] ?? high + 1) - position }))
}

type LeaseRow = LeaseMark & { readonly subscription_id: number }

/** A lease of retries holds messages from anywhere in the log. */
function leaseMarks(tx: Transaction, topic: TopicRecord): Map<number, LeaseMark[]> {
  const rows = rowsOf<LeaseRow>(
    tx.prepare(`
      select l.subscription_id, l.consumer, l.deadline as until,
        coalesce(min(r.id), l.first_id) as "from", coalesce(max(r.id), l.first_id + l.size - 1) as "to",
        coalesce(max(r.attempts), 1) as attempt
      from tidemark_subscription s
      join tidemark_lease l on l.subscription_id = s.id and l.done_at is null and l.expired_at is null
      left join tidemark_retry r indexed by tidemark_retry_leased on l.kind = 'retry' and r.token = l.token
      where s.topic_id = ?
      group by l.token
      having coalesce(min(r.id), l.first_id) is not null
      order by l.claimed_at, l.token`),
    topic.id,
  )
  const marks = rows.map(({ subscription_id, from, to, consumer, until, attempt }) => ({
    of: subscription_id,
    mark: { from, to, consumer, until, attempt },
  }))
  return new Map([...Map.groupBy(marks, ({ of }) => of)].map(([id, each]) => [id, each.map(({ mark }) => mark)]))
}

function marksOf(
  tx: Transaction,
  topic: TopicRecord,
  { id, description: { group, retries, deadLetters } }: DescribedGroup,
  { low, high, most }: { readonly low: number; readonly high: number; readonly most: number },
): Omit<GroupMarks, 'leases'> {
  const waiting = `
    select id, due_at as due, attempts + 1 as attempt from tidemark_retry
    where subscription_id = ? and id between ? and ? and token is null
    order by id
    limit ?`
  const dead = `
    select log_id from tidemark_dead_letter where topic_id = ? and group_name = ? order by id desc limit ?`
  const isShown = (found: number): boolean => found >= low && found <= high
  return {
    waitingRetries: retries === 0 ? [] : rowsOf(tx.prepare(waiting), id, low, high, most),
    deadIds:
      deadLetters === 0
        ? []
        : rowsOf<{ log_id: number }>(tx.prepare(dead), topic.id, group, most)
            .map(each => each.log_id)
            .filter(isShown),
  }
}
