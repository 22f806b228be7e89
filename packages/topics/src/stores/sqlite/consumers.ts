import type { SparseHistogram } from '../../observe/metrics/histogram.ts'
import type { ConsumerRecord, GroupActivity } from '../heartbeats.ts'
import type { TopicRecord } from '../topic-record.ts'
import { rowsOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

const REPORT = `
  insert into tidemark_consumer (
    subscription_id, instance, consumer, started_at, reported_at, active_at, processed, failed, claims, claim_conflicts, handler
  )
  values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
  on conflict do update
  set reported_at = excluded.reported_at, active_at = excluded.active_at, processed = excluded.processed,
    failed = excluded.failed, claims = excluded.claims, claim_conflicts = excluded.claim_conflicts,
    handler = excluded.handler`

/**
 * Deletes rows of this instance that are no longer reported, and rows of others without a heartbeat within the
 * timeout.
 */
const FORGET = `
  delete from tidemark_consumer
  where subscription_id = ?1 and (
    instance = ?2 and consumer not in (select value from json_each(?3))
    or reported_at < ?4 - (select heartbeat_timeout_ms from tidemark_subscription where id = ?1)
  )`

/** Call it inside a write transaction. */
export function reportConsumers(
  tx: Transaction,
  subscriptionId: number,
  { instance, group, consumers }: GroupActivity,
  now: number,
): void {
  const names = [...(group === null ? [] : ['']), ...consumers.map(({ consumer }) => consumer)]
  tx.prepare(FORGET).run(subscriptionId, instance, JSON.stringify(names), now)
  const report = tx.prepare(REPORT)
  if (group !== null) {
    const { claims, claimConflicts, handler } = group
    report.run(subscriptionId, instance, '', now, now, null, 0, 0, claims, claimConflicts, JSON.stringify(handler))
  }
  for (const { consumer, processed, failed, handler, ageMs, idleMs } of consumers) {
    report.run(
      ...[subscriptionId, instance, consumer, Math.round(now - ageMs), now],
      idleMs === null ? null : Math.round(now - idleMs),
      ...[processed, failed, 0, 0, JSON.stringify(handler)],
    )
  }
}

type Row = {
  group_name: string
  instance: string
  consumer: string
  started_at: number
  reported_at: number
  active_at: number | null
  processed: number
  failed: number
  handler: string
}

export function listConsumers(tx: Transaction, topic: TopicRecord): ConsumerRecord[] {
  return rowsOf<Row>(
    tx.prepare(`
      select s.group_name, c.*
      from tidemark_subscription s
      join tidemark_consumer c on c.subscription_id = s.id
      where s.topic_id = ? and c.consumer <> '' and c.reported_at >= ? - s.heartbeat_timeout_ms
      order by s.group_name, c.consumer, c.instance`),
    topic.id,
    tx.now(),
  ).map(row => ({
    group: row.group_name,
    instance: row.instance,
    consumer: row.consumer,
    processed: row.processed,
    failed: row.failed,
    handler: JSON.parse(row.handler) as SparseHistogram,
    startedAt: row.started_at,
    reportedAt: row.reported_at,
    activeAt: row.active_at,
  }))
}
