import {
  InvalidTransitionError,
  MessageNotFoundError,
  SubscriptionGoneError,
  TopicNotFoundError,
} from '../../errors.ts'
import { idOfMessageId } from '../../message-id.ts'
import type { StartPosition, SubscriptionRecord, SubscriptionStatus, TopicRecord } from '../store.ts'
import { type Connection, rowOf } from './connection.ts'
import { logTable } from './topics.ts'

type Bounds = { first_id: number; next_id: number }

export async function subscribe(
  connection: Connection,
  topic: TopicRecord,
  group: string,
  from: StartPosition,
): Promise<SubscriptionRecord> {
  return await connection.write(true, () => {
    const existing = rowOf<{ id: number; status: SubscriptionStatus }>(
      connection.prepare('select id, status from tidemark_subscription where topic_id = ? and group_name = ?'),
      topic.id,
      group,
    )
    if (existing?.status === 'CANCELLED') throw new InvalidTransitionError(topic.name, group, 'CANCELLED', 'ACTIVE')
    if (existing) return { ...existing, topicId: topic.id, group, created: false }
    const created = rowOf<{ id: number; status: SubscriptionStatus }>(
      connection.prepare(`
        insert into tidemark_subscription (topic_id, group_name, cursor, created_at)
        values (?, ?, ?, ?)
        returning id, status`),
      topic.id,
      group,
      cursorAt(connection, topic, topic.config.semantics === 'queue' ? 'beginning' : from),
      Date.now(),
    )
    if (created === undefined) throw new SubscriptionGoneError(topic.name, group)
    return { ...created, topicId: topic.id, group, created: true }
  })
}

/** The id just before the first message to deliver. */
function cursorAt(connection: Connection, topic: TopicRecord, from: StartPosition): number {
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
function firstIdSince(connection: Connection, topic: TopicRecord, bounds: Bounds, timestamp: number): number {
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
      .prepare('update tidemark_subscription set status = ?, epoch = epoch + ? where id = ?')
      .run(status, status === 'ACTIVE' ? 1 : 0, subscription.id)
  })
}
