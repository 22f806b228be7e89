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
import { logTable } from './topics.ts'

type Bounds = { first_id: number; next_id: number }

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
    if (existing) return existing
    const now = Date.now()
    const heartbeat = { ...DEFAULT_HEARTBEAT, ...settings.heartbeat }
    const byReference = isTracked(connection, topic)
    const isCutOff = byReference && settings.backfill === false
    const start = topic.config.semantics === 'queue' ? 'beginning' : isCutOff ? 'now' : from
    const cursor = cursorAt(connection, topic, start)
    connection
      .prepare(`
        insert into tidemark_subscription (
          topic_id, group_name, cursor, start_id, created_at, status_at, moved_at, last_heartbeat_at,
          heartbeat_interval_ms, heartbeat_timeout_ms, dead_after_misses
        )
        values (?1, ?2, ?3, ?3, ?4, ?4, ?4, ?4, ?5, ?6, ?7)`)
      .run(topic.id, group, cursor, now, heartbeat.intervalMs, heartbeat.timeoutMs, heartbeat.deadAfterMisses)
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

/** created_at never goes back within a topic, so bisection finds the place with a few look-ups. */
export function firstIdSince(connection: Connection, topic: TopicRecord, bounds: Bounds, timestamp: number): number {
  const createdAt = connection.prepare(`select created_at from ${logTable(topic.id)} where id = ?`)
  let low = bounds.first_id
  let high = bounds.next_id
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = rowOf<{ created_at: number }>(createdAt, middle)
    if (row !== undefined && row.created_at >= timestamp) high = middle
    else low = middle + 1
  }
  return low
}

function idOf(connection: Connection, topic: TopicRecord, messageId: string): number | undefined {
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
    if (!ALLOWED[status].includes(row.status)) {
      throw new InvalidTransitionError(topic.name, subscription.group, row.status, status)
    }
    // Every activation is an epoch of its own: work done for one is done once.
    connection
      .prepare('update tidemark_subscription set status = ?, status_at = ?, epoch = epoch + ? where id = ?')
      .run(status, Date.now(), status === 'ACTIVE' ? 1 : 0, subscription.id)
  })
}
