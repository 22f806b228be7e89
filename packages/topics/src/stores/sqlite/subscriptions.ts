import {
  InvalidTransitionError,
  MessageNotFoundError,
  SubscriptionGoneError,
  TopicConflictError,
  TopicNotFoundError,
} from '../../errors.ts'
import { parseMessageId } from '../../message-id.ts'
import { DEFAULT_HEARTBEAT, type SubscriptionSettings } from '../fan-out-store.ts'
import { startOf } from '../start.ts'
import type { StartPosition, SubscriptionRecord, SubscriptionStatus, TopicRecord } from '../store.ts'
import { beginBackfill } from './backfills.ts'
import { takeBit } from './bits.ts'
import { type Connection, rowOf } from './connection.ts'
import { rememberedText, saltedText } from './dedupe.ts'
import { recordBeat } from './heartbeats.ts'
import { type Bounds, boundsOf, firstIdSince } from './log.ts'
import { resurrect } from './resurrect.ts'
import { logTable } from './topics.ts'

export type SubscriptionRow = {
  id: number
  uid: number
  group_name: string
  status: SubscriptionStatus
  epoch: number
  heartbeat_interval_ms: number
  heartbeat_timeout_ms: number
  dead_after_misses: number
}

export const SUBSCRIPTION_COLUMNS =
  'id, uid, group_name, status, epoch, heartbeat_interval_ms, heartbeat_timeout_ms, dead_after_misses'

export async function subscribe(
  connection: Connection,
  topic: TopicRecord,
  group: string,
  from: StartPosition,
  settings: SubscriptionSettings = {},
): Promise<SubscriptionRecord> {
  return await connection.writeUnlessHeld(() => {
    const existing = findSubscription(connection, topic, group)
    if (existing?.status === 'CANCELLED') throw new InvalidTransitionError(topic.name, group, 'CANCELLED', 'ACTIVE')
    if (existing) return goOn(connection, topic, existing, settings)
    const { semantics, byReference } = kindOf(connection, topic)
    if (semantics !== topic.config.semantics) throw TopicConflictError.ofSemantics(topic.name)
    const now = connection.now()
    const heartbeat = { ...(settings.heartbeatDefaults ?? DEFAULT_HEARTBEAT), ...settings.heartbeat }
    const { start, plan } = startOf(topic, from, settings, byReference)
    const first = cursorAt(connection, topic, start)
    const cursor = byReference ? first : newestAfter(connection, topic, first, plan.maxMessages)
    connection
      .prepare(`
        insert into tidemark_subscription (
          topic_id, group_name, cursor, start_id, live_id, created_at, status_at, moved_at, last_heartbeat_at,
          heartbeat_interval_ms, heartbeat_timeout_ms, dead_after_misses, backfill_limit
        )
        values (?1, ?2, ?3, ?3, ?9, ?4, ?4, ?4, ?4, ?5, ?6, ?7, ?8)`)
      .run(
        ...[topic.id, group, cursor, now],
        ...[heartbeat.intervalMs, heartbeat.timeoutMs, heartbeat.deadAfterMisses, settings.backfillLimit ?? null],
        cursorAt(connection, topic, 'now'),
      )
    const created = findSubscription(connection, topic, group)
    if (created === undefined) throw new SubscriptionGoneError(topic.name, group)
    if (byReference) takeBit(connection, { topic_id: topic.id, name: topic.name }, created.id)
    const skipped =
      byReference && start !== 'now'
        ? beginBackfill(connection, created.id, { lowerId: cursor, plan, again: false })
        : cursor - first
    return { ...created, created: true, skipped }
  })
}

/** The id just before the newest so many messages after `first`. */
export function newestAfter(
  connection: Connection,
  topic: TopicRecord,
  first: number,
  maxMessages: number | null,
): number {
  if (maxMessages === null) return first
  return Math.max(first, cursorAt(connection, topic, 'now') - maxMessages)
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
function kindOf(connection: Connection, topic: TopicRecord): { semantics: string; byReference: boolean } {
  const row = rowOf<{ semantics: string; tracking: string }>(
    connection.prepare(`
      select config ->> '$.semantics' as semantics, config ->> '$.tracking' as tracking from tidemark_topic where id = ?`),
    topic.id,
  )
  if (row === undefined) throw new TopicNotFoundError(topic.name)
  return { semantics: row.semantics, byReference: row.tracking === 'reference' }
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
  uid: row.uid,
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
  skipped: 0,
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

/** Its id, though its message may be cleaned up; undefined where it is no message's, or another has its id now. */
export function idOf(connection: Connection, topic: TopicRecord, messageId: string): number | undefined {
  const derived = parseMessageId(topic.uid, messageId)
  const isKept =
    derived !== undefined && rowOf(connection.prepare(saltedText(topic)), derived.id, derived.salt) !== undefined
  if (isKept) return derived.id
  const remembered = rowOf<{ id: number }>(connection.prepare(rememberedText(topic)), topic.id, messageId, 0)
  if (remembered !== undefined) return remembered.id
  if (derived !== undefined && derived.id < boundsOf(connection, topic).first_id) return derived.id
  // Past its dedupe window: only the log itself still knows it.
  return rowOf<{ id: number }>(
    connection.prepare(`select id from ${logTable(topic.id)} where message_id = ? order by id desc limit 1`),
    messageId,
  )?.id
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
  await connection.writeUnlessHeld(() => {
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
