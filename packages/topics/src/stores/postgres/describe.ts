import { ratePerSecond } from '../rate.ts'
import type { GroupDescription, SubscriptionStatus, TopicDescription, TopicRecord } from '../store.ts'
import { type BackfillRow, toBackfillRecord } from './backfill-record.ts'
import type { Database, Row } from './database.ts'

/** Up to here a backlog is counted, by index; beyond, it is told by the ids. */
export const EXACT_BACKLOG = 1_000

const ms = (time: string): string => `floor(extract(epoch from ${time}) * 1000)`

const GROUPS = `
  select (g.s).group_name, (g.s).status, (g.s).epoch, g.watermark, g.backlog, ${ms('g.oldest_waiting_at')} as oldest_waiting_at,
    g.in_flight, g.retries, g.dead_letters, (g.s).heartbeat_interval_ms, (g.s).heartbeat_timeout_ms, (g.s).dead_after_misses,
    ${ms('(g.s).last_heartbeat_at')} as last_heartbeat_at, (g.s).misses, ${ms('(g.s).created_at')} as created_at,
    ${ms('(g.s).moved_at')} as moved_at, (g.s).processed, (g.s).failed, (g.s).filtered,
    (g.s).minute, (g.s).minute_count, (g.s).previous_count, (g.s).lost, ${ms('(g.s).lost_at')} as lost_at,
    (select to_jsonb(b) from tidemark.backfill as b where b.subscription_id = (g.s).id) as backfill
  from tidemark.describe_groups($1, $2) as g`

/** Ids drawn, but for those that were thrown away to fill a partition. */
const HEAD = `
  select tidemark.last_id(t.id) - t.skipped_ids as id, tidemark.now_ms() as now
  from tidemark.topic as t
  where t.id = $1`

export async function describeTopic(database: Database, topic: TopicRecord): Promise<TopicDescription> {
  const [head] = await database.query(database.sql(HEAD), [topic.id])
  const now = Number(head?.now)
  const rows = await database.query(database.sql(GROUPS), [topic.id, EXACT_BACKLOG])
  return { messagesPublished: Number(head?.id), now, groups: rows.map(row => toGroup(row, now)) }
}

function toGroup(row: Row, now: number): GroupDescription {
  const group = row.group_name ?? ''
  return {
    group,
    status: row.status as SubscriptionStatus,
    watermark: BigInt(row.watermark ?? 0),
    backlog: Number(row.backlog),
    oldestWaitingAt: numberOrNull(row.oldest_waiting_at),
    inFlight: Number(row.in_flight),
    retries: Number(row.retries),
    deadLetters: Number(row.dead_letters),
    epoch: Number(row.epoch),
    heartbeat: {
      intervalMs: Number(row.heartbeat_interval_ms),
      timeoutMs: Number(row.heartbeat_timeout_ms),
      deadAfterMisses: Number(row.dead_after_misses),
      lastAt: Number(row.last_heartbeat_at),
      misses: Number(row.misses),
    },
    createdAt: Number(row.created_at),
    movedAt: Number(row.moved_at),
    processed: Number(row.processed),
    failed: Number(row.failed),
    filtered: Number(row.filtered),
    rate: ratePerSecond(
      {
        minute: Number(row.minute),
        minuteCount: Number(row.minute_count),
        previousCount: Number(row.previous_count),
      },
      now,
    ),
    lost: Number(row.lost),
    lostAt: numberOrNull(row.lost_at),
    backfill: row.backfill ? toBackfillRecord(JSON.parse(row.backfill) as BackfillRow, group) : null,
  }
}

const numberOrNull = (text: string | null | undefined): number | null =>
  text === null || text === undefined ? null : Number(text)
