import type { SparseHistogram } from '../../observe/metrics/histogram.ts'
import type { ConsumerRecord, Heartbeat } from '../heartbeats.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Transaction } from './transaction.ts'

const ms = (time: string): string => `floor(extract(epoch from c.${time}) * 1000) as ${time}`

const LIST = `
  select s.group_name, c.instance, c.consumer, c.processed, c.failed, c.handler, ${ms('started_at')}, ${ms('reported_at')},
    ${ms('active_at')}
  from tidemark.subscription as s
  join tidemark.consumer as c on c.subscription_id = s.id
  where s.topic_id = $1 and c.consumer <> ''
    and c.reported_at >= clock_timestamp() - s.heartbeat_timeout_ms * interval '1 millisecond'
  order by s.group_name collate "C", c.consumer collate "C", c.instance collate "C"`

export async function listConsumers(tx: Transaction, topic: TopicRecord): Promise<ConsumerRecord[]> {
  const rows = await tx.query(tx.sql(LIST), [topic.id])
  return rows.map(row => ({
    group: row.group_name ?? '',
    instance: row.instance ?? '',
    consumer: row.consumer ?? '',
    processed: Number(row.processed),
    failed: Number(row.failed),
    handler: JSON.parse(row.handler ?? '{}') as SparseHistogram,
    startedAt: Number(row.started_at),
    reportedAt: Number(row.reported_at),
    activeAt: row.active_at === null ? null : Number(row.active_at),
  }))
}

/**
 * A group's activity in the form that `report_consumers` takes: a row for the group itself, and one for each consumer.
 */
export function toReports({ subscriptionId: id, activity }: Heartbeat): object[] {
  if (activity === undefined) return []
  const { group, consumers } = activity
  const none = { processed: 0, failed: 0, claims: 0, conflicts: 0 }
  const whole = group && {
    ...{ ...none, id, consumer: '', age_ms: 0, idle_ms: null },
    ...{ claims: group.claims, conflicts: group.claimConflicts, handler: group.handler },
  }
  const each = consumers.map(({ consumer, processed, failed, handler, ageMs, idleMs }) => ({
    ...{ ...none, id, consumer, age_ms: ageMs, idle_ms: idleMs },
    ...{ processed, failed, handler },
  }))
  return whole === null ? each : [whole, ...each]
}
