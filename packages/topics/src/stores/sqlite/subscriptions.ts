import { DEFAULT_BACKFILL } from '../../backfill/backfill-plan.ts'
import {
  InvalidTransitionError,
  MessageNotFoundError,
  SubscriptionGoneError,
  TooManyGroupsError,
  TopicNotFoundError,
} from '../../errors.ts'
import { idOfMessageId } from '../../message-id.ts'
import { DEFAULT_HEARTBEAT, type SubscriptionSettings } from '../fan-out-store.ts'
import type { StartPosition, SubscriptionRecord, SubscriptionStatus, TopicRecord } from '../store.ts'
import { beginBackfill } from './backfills.ts'
import { freeBit, wipingBits } from './bits.ts'
import { type Connection, rowOf } from './connection.ts'
import { recordBeat } from './heartbeats.ts'
import { type Bounds, firstIdSince } from './log.ts'
import { resurrect } from './resurrect.ts'
import { logTable } from './topics.ts'

export type SubscriptionRow = {
  id: number
  group_name: string
  status: SubscriptionStatus
  epoch: number
  heartbeat_interval_ms: number
  heartbeat_timeout_ms: number
  dead_after_misses: number
}

export const SUBSCRIPTION_COLUMNS =
  'id, group_name, status, epoch, heartbeat_interval_ms, heartbeat_timeout_ms, dead_after_misses'

export async function subscribe(
  connection: Connection,
  topic: TopicRecord,
  group: string,
  from: StartPosition,
  settings: SubscriptionSettings = {},
): Promise<SubscriptionRecord> {
  return await connection.write(true, () => {
    const existing = findSubscription(connection, topic, group)
    if (existing?.status === 'CANCELLED') throw new InvalidTransitionError(topic.name, group, 'CANCELLED', 'ACTIVE')
    if (existing) return goOn(connection, topic, existing, settings)
    const now = connection.now()
    const heartbeat = { ...(settings.heartbeatDefaults ?? DEFAULT_HEARTBEAT), ...settings.heartbeat }
    const byReference = isTracked(connection, topic)
    const isCutOff = byReference && settings.backfill === false
    const start = topic.config.semantics === 'queue' ? 'beginning' : isCutOff ? 'now' : from
    const cursor = cursorAt(connection, topic, start)
    connection
      .prepare(`
        insert into tidemark_subscription (
          topic_id, group_name, cursor, start_id, created_at, status_at, moved_at, last_heartbeat_at,
          heartbeat_interval_ms, heartbeat_timeout_ms, dead_after_misses, backfill_limit
        )
        values (?1, ?2, ?3, ?3, ?4, ?4, ?4, ?4, ?5, ?6, ?7, ?8)`)
      .run(
        ...[topic.id, group, cursor, now],
        ...[heartbeat.intervalMs, heartbeat.timeoutMs, heartbeat.deadAfterMisses, settings.backfillLimit ?? null],
      )
    const created = findSubscription(connection, topic, group)
    if (created === undefined) throw new SubscriptionGoneError(topic.name, group)
    if (byReference) takeBit(connection, topic, created.id)
    if (byReference && start !== 'now') {
      const plan = settings.backfill || DEFAULT_BACKFILL
      beginBackfill(connection, created.id, { lowerId: cursor, plan, again: false })
    }
    return { ...created, created: true }
  })
}

/** One that exists takes the settings given, and is seen to be alive; a dead one is resurrected. */
function goOn(
  connection: Connection,
  topic: TopicRecord,
  { id, group, status }: SubscriptionRecord,
  { heartbeat = {}, backfillLimit }: SubscriptionSettings,
): SubscriptionRecord {
  connection
    .prepare(`
      update tidemark_subscription
      set heartbeat_interval_ms = coalesce(?2, heartbeat_interval_ms),
        heartbeat_timeout_ms = coalesce(?3, heartbeat_timeout_ms),
        dead_after_misses = coalesce(?4, dead_after_misses),
        backfill_limit = case when ?5 then ?6 else backfill_limit end
      where id = ?1`)
    .run(
      ...[id, heartbeat.intervalMs ?? null, heartbeat.timeoutMs ?? null, heartbeat.deadAfterMisses ?? null],
      ...[backfillLimit === undefined ? 0 : 1, backfillLimit ?? null],
    )
  const resurrected = status === 'DEAD' ? resurrect(connection, id) : null
  recordBeat(connection, { subscriptionId: id, processed: 0, failed: 0, filtered: 0 }, connection.now())
  const subscription = findSubscription(connection, topic, group)
  if (subscription === undefined) throw new SubscriptionGoneError(topic.name, group)
  return { ...subscription, resurrected }
}

/** What is stored, not what the caller knows: the topic may have been switched since. */
function isTracked(connection: Connection, topic: TopicRecord): boolean {
  const row = rowOf<{ tracking: string }>(
    connection.prepare("select config ->> '$.tracking' as tracking from tidemark_topic where id = ?"),
    topic.id,
  )
  return row?.tracking === 'reference'
}

function takeBit(connection: Connection, topic: TopicRecord, id: number): void {
  const bit = freeBit(connection, topic.id)
  if (bit === undefined) throw new TooManyGroupsError(topic.name, wipingBits(connection, topic.id))
  connection.prepare('update tidemark_subscription set bit = ? where id = ?').run(bit, id)
}

export function findSubscription(
  connection: Connection,
  topic: TopicRecord,
  group: string,
): SubscriptionRecord | undefined {
  const row = rowOf<SubscriptionRow>(
    connection.prepare(
      `select ${SUBSCRIPTION_COLUMNS} from tidemark_subscription where topic_id = ? and group_name = ?`,
    ),
    topic.id,
    group,
  )
  return row && toSubscription(topic.id, row)
}

export const toSubscription = (topicId: number, row: SubscriptionRow): SubscriptionRecord => ({
  id: row.id,
  topicId,
  group: row.group_name,
  status: row.status,
  epoch: row.epoch,
  heartbeat: {
    intervalMs: row.heartbeat_interval_ms,
    timeoutMs: row.heartbeat_timeout_ms,
    deadAfterMisses: row.dead_after_misses,
  },
  created: false,
  resurrected: null,
})

/** The id just before the first message to deliver. */
export function cursorAt(connection: Connection, topic: TopicRecord, from: StartPosition): number {
  const bounds = rowOf<Bounds>(
    connection.prepare('select first_id, next_id from tidemark_topic where id = ?'),
    topic.id,
  )
  if (bounds === undefined) throw new TopicNotFoundError(topic.name)
  if (from === 'now') return bounds.next_id - 1
  if (from === 'beginning') return bounds.first_id - 1
  if ('timestamp' in from) return firstIdSince(connection, topic, bounds, from.timestamp) - 1
  const id = idOf(connection, topic, from.messageId)
  if (id === undefined || id < bounds.first_id || id >= bounds.next_id) {
    throw new MessageNotFoundError(topic.name, from.messageId)
  }
  return id - 1
}

export function idOf(connection: Connection, topic: TopicRecord, messageId: string): number | undefined {
  return (
    idOfMessageId(topic.uid, messageId) ??
    rowOf<{ id: number }>(
      connection.prepare('select id from tidemark_dedupe where topic_id = ? and message_id = ?'),
      topic.id,
      messageId,
    )?.id ??
    // Past its dedupe window: only the log itself still knows it.
    rowOf<{ id: number }>(
      connection.prepare(`select id from ${logTable(topic.id)} where message_id = ? order by id desc limit 1`),
      messageId,
    )?.id
  )
}

const ALLOWED: Record<SubscriptionStatus, readonly string[]> = {
  ACTIVE: ['PAUSED'],
  PAUSED: ['ACTIVE'],
  // Through detectDead alone.
  DEAD: [],
  CANCELLED: ['ACTIVE', 'PAUSED', 'DEAD'],
}

export async function setStatus(
  connection: Connection,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  status: SubscriptionStatus,
): Promise<void> {
  await connection.write(true, () => {
    const row = rowOf<{ status: string }>(
      connection.prepare('select status from tidemark_subscription where id = ?'),
      subscription.id,
    )
    if (row === undefined) throw new SubscriptionGoneError(topic.name, subscription.group)
    // Cancelling again is fine, and changes nothing.
    if (status === 'CANCELLED' && row.status === 'CANCELLED') return
    if (!ALLOWED[status].includes(row.status)) {
      throw new InvalidTransitionError(topic.name, subscription.group, row.status, status)
    }
    // Every activation is an epoch of its own: work done for one is done once. It begins with a clean record.
    connection
      .prepare(`
        update tidemark_subscription
        set status = ?2, status_at = ?3, epoch = epoch + ?4,
          misses = case when ?4 then 0 else misses end,
          missed_at = case when ?4 then null else missed_at end,
          last_heartbeat_at = case when ?4 then ?3 else last_heartbeat_at end
        where id = ?1`)
      .run(subscription.id, status, connection.now(), status === 'ACTIVE' ? 1 : 0)
  })
}
