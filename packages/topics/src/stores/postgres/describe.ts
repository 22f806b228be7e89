import { type ReportedActivity, sumActivity } from '../group-activity.ts'
import type { GroupDescription, TopicDescription } from '../inspection.ts'
import { ratePerSecond } from '../rate.ts'
import type { SubscriptionStatus } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { type BackfillRow, toBackfillRecord } from './backfill-record.ts'
import type { Transaction } from './transaction.ts'

/** Up to this number a backlog is counted by index; beyond, it is estimated from ids. */
export const EXACT_BACKLOG = 1_000

/** Assigned ids, without those that were discarded to fill a partition. */
const DESCRIBE = `
  select tidemark_fn.last_id(t.id) - t.skipped_ids as id, tidemark_fn.now_ms() as now, d.groups
  from tidemark.topic as t
  left join lateral tidemark_fn.describe_json(array[t.id], $2, null) as d on true
  where t.id = $1`

/** A group as `describe_json` returns it. */
export type GroupRow = {
  readonly uid: number
  readonly group_name: string
  readonly status: SubscriptionStatus
  readonly epoch: number
  readonly cursor: string | number
  readonly watermark: string | number
  readonly backlog: number
  readonly oldest_waiting_at: number | null
  readonly in_flight: number
  readonly retries: number
  readonly dead_letters: number
  readonly heartbeat_interval_ms: number
  readonly heartbeat_timeout_ms: number
  readonly dead_after_misses: number
  readonly last_heartbeat_at: number
  readonly misses: number
  readonly created_at: number
  readonly moved_at: number
  readonly processed: number
  readonly failed: number
  readonly filtered: number
  readonly minute: number
  readonly minute_count: number
  readonly previous_count: number
  readonly lost: number
  readonly lost_at: number | null
  readonly lost_acknowledged: number
  readonly consumers: number
  readonly reported: readonly ReportedActivity[]
  readonly backfill: BackfillRow | null
}

export async function describeTopic(tx: Transaction, topic: TopicRecord): Promise<TopicDescription> {
  const [row] = await tx.query(tx.sql(DESCRIBE), [topic.id, EXACT_BACKLOG])
  const now = Number(row?.now)
  const groups = JSON.parse(row?.groups ?? '[]') as GroupRow[]
  return { messagesPublished: Number(row?.id), now, groups: groups.map(group => toGroup(group, now)) }
}

export const toGroup = (row: GroupRow, now: number): GroupDescription => ({
  group: row.group_name,
  status: row.status,
  cursor: BigInt(row.cursor),
  watermark: BigInt(row.watermark),
  backlog: row.backlog,
  oldestWaitingAt: row.oldest_waiting_at,
  inFlight: row.in_flight,
  retries: row.retries,
  deadLetters: row.dead_letters,
  epoch: row.epoch,
  heartbeat: {
    intervalMs: row.heartbeat_interval_ms,
    timeoutMs: row.heartbeat_timeout_ms,
    deadAfterMisses: row.dead_after_misses,
    lastAt: row.last_heartbeat_at,
    misses: row.misses,
  },
  createdAt: row.created_at,
  movedAt: row.moved_at,
  processed: row.processed,
  failed: row.failed,
  filtered: row.filtered,
  rate: ratePerSecond({ minute: row.minute, minuteCount: row.minute_count, previousCount: row.previous_count }, now),
  consumers: row.consumers,
  ...sumActivity(row.reported),
  lost: row.lost,
  lostAt: row.lost_at,
  lostAcknowledged: row.lost_acknowledged,
  backfill: row.backfill && toBackfillRecord(row.backfill, { uid: row.uid, group: row.group_name }),
})
