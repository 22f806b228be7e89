import { type SummedActivity, sumActivity } from '../group-activity.ts'
import type { GroupDescription } from '../inspection.ts'
import { ratePerSecond } from '../rate.ts'
import { type BackfillRow, toBackfillRecord } from './backfill-record.ts'
import { type Bitmap, countBits } from './bitmap.ts'
import { rowsOf } from './rows.ts'
import { SUBSCRIPTION_COLUMNS, type SubscriptionRow } from './subscription-rows.ts'
import type { Transaction } from './transaction.ts'
import { waitingFor } from './waiting.ts'
import { firstUnsettled } from './watermark.ts'

type GroupRow = SubscriptionRow & {
  topic_id: number
  cursor: number
  bit: number | null
  backfilling: number
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
  lost_acknowledged: number
  first_id: number
  next_id: number
  fill_next_id: number | null
  lowest_retry: number | null
  retries: number
  dead_letters: number
  consumers: number
}
type LeaseRow = { subscription_id: number; kind: string; first_id: number; size: number; settled: Bitmap | null }
type ActivityRow = { subscription_id: number; claims: number; claim_conflicts: number; handler: string }

export type DescribedGroup = {
  readonly id: number
  readonly topicId: number
  readonly description: GroupDescription
  /** The lowest id that it has claimed and not settled, or will retry. */
  readonly lowestHeld: number | undefined
}

/** `topicId` null: all topics. Retries and dead letters are counted up to `most`; -1 counts all of them. */
export type Wanted = { readonly topicId: number | null; readonly most: number }

const GROUPS = `
  select s.topic_id, ${SUBSCRIPTION_COLUMNS.replaceAll(/\w+/g, 's.$&')}, s.cursor, s.bit, s.backfilling, s.created_at,
    s.moved_at, s.last_heartbeat_at, s.misses, s.processed, s.failed, s.filtered, s.minute, s.minute_count, s.previous_count,
    s.lost, s.lost_at, s.lost_acknowledged, t.first_id, t.next_id, t.fill_next_id,
    (select min(r.id) from tidemark_retry r where r.subscription_id = s.id) as lowest_retry,
    (select count(*) from (
      select 1 from tidemark_retry r where r.subscription_id = s.id and r.token is null limit ?2
    )) as retries,
    (select count(*) from (
      select 1 from tidemark_dead_letter d where d.topic_id = s.topic_id and d.group_name = s.group_name limit ?2
    )) as dead_letters,
    (select count(*) from tidemark_consumer c
      where c.subscription_id = s.id and c.consumer <> '' and c.reported_at >= ?3 - s.heartbeat_timeout_ms) as consumers
  from tidemark_subscription s
  join tidemark_topic t on t.id = s.topic_id
  where ?1 is null or s.topic_id = ?1
  order by s.group_name`

/** Restricts a statement to one topic's groups; without a topic it covers all. */
const ofGroups = (column: string): string =>
  `(?1 is null or ${column} in (select id from tidemark_subscription where topic_id = ?1))`

const LEASES = `
  select subscription_id, kind, first_id, size, settled from tidemark_lease indexed by tidemark_lease_live
  where done_at is null and expired_at is null and ${ofGroups('subscription_id')}`

const BACKFILLS = 'select * from tidemark_backfill where ?1 is null or topic_id = ?1'

const ACTIVITY = `
  select c.subscription_id, c.claims, c.claim_conflicts, c.handler
  from tidemark_consumer c
  join tidemark_subscription s on s.id = c.subscription_id
  where c.consumer = '' and c.reported_at >= ?2 - s.heartbeat_timeout_ms and ${ofGroups('c.subscription_id')}`

/**
 * Runs a handful of statements however many groups there are: positions, leases, retries, backfills and consumer
 * reports. From the log it reads one row per group, and the next messages of backfills.
 */
export function describeGroups(tx: Transaction, { topicId, most }: Wanted, now: number): DescribedGroup[] {
  const groups = rowsOf<GroupRow>(tx.prepare(GROUPS), topicId, most, now)
  const leases = bySubscription(rowsOf<LeaseRow>(tx.prepare(LEASES), topicId))
  const backfills = bySubscription(rowsOf<BackfillRow>(tx.prepare(BACKFILLS), topicId))
  const activity = bySubscription(rowsOf<ActivityRow>(tx.prepare(ACTIVITY), topicId, now))
  return groups.map(group => {
    const held = leases.get(group.id) ?? []
    const [backfill] = backfills.get(group.id) ?? []
    const reported = activityOf(activity.get(group.id) ?? [])
    return describe(tx, group, { held, backfill, reported }, now)
  })
}

type Parts = {
  readonly held: readonly LeaseRow[]
  readonly backfill: BackfillRow | undefined
  readonly reported: SummedActivity
}

function describe(tx: Transaction, group: GroupRow, { held, backfill, reported }: Parts, now: number): DescribedGroup {
  // Not a copy of the row: with 32 000 groups, copying all columns was a third of reading them.
  const { topic_id: topicId, first_id, next_id, fill_next_id } = group
  const waiting = waitingFor(tx, { topicId, first_id, next_id, fill_next_id }, group, backfill)
  const pages = held.filter(({ kind }) => kind === 'page').map(firstUnsettled)
  const lowestHeld = lowest([group.lowest_retry ?? undefined, ...pages])
  const isBackfilling =
    backfill !== undefined && (backfill.status === 'RUNNING' || backfill.cursor_id < backfill.checkpoint_id)
  const needed = lowest([group.cursor + 1, lowestHeld, isBackfilling ? backfill.cursor_id + 1 : undefined])
  const description = {
    group: group.group_name,
    status: group.status,
    cursor: BigInt(Math.max(group.cursor, group.first_id - 1)),
    watermark: BigInt((needed ?? 1) - 1),
    backlog: waiting.count,
    oldestWaitingAt: waiting.oldestAt,
    inFlight: held.reduce((sum, lease) => sum + lease.size - countBits(lease.settled), 0),
    retries: group.retries,
    deadLetters: group.dead_letters,
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
    consumers: group.consumers,
    ...reported,
    lost: group.lost,
    lostAt: group.lost_at,
    lostAcknowledged: group.lost_acknowledged,
    backfill: backfill === undefined ? null : toBackfillRecord(backfill, { uid: group.uid, group: group.group_name }),
  }
  return { id: group.id, topicId: group.topic_id, description, lowestHeld }
}

function lowest(ids: readonly (number | undefined)[]): number | undefined {
  const known = ids.filter(id => id !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

const activityOf = (rows: readonly ActivityRow[]): SummedActivity =>
  sumActivity(rows.map(row => ({ ...row, handler: JSON.parse(row.handler) })))

function bySubscription<Row extends { readonly subscription_id: number }>(rows: readonly Row[]): Map<number, Row[]> {
  return Map.groupBy(rows, row => row.subscription_id)
}
