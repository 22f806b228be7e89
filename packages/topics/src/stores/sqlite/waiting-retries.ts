import type { RetryQuery, RetryRecord } from '../fan-out-store.ts'
import type { SubscriptionRecord, TopicRecord } from '../store.ts'
import { type Connection, rowsOf } from './connection.ts'
import { logTable } from './topics.ts'

type Row = {
  id: number
  attempts: number
  due_at: number
  suspect: number
  history: string
  salt: number | null
  key: string | null
  type: string | null
  message_id: string | null
  created_at: number | null
}

/** By the primary key, from `after` on: what is passed over is in flight. */
export function listRetries(
  connection: Connection,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  { after, limit }: RetryQuery,
): RetryRecord[] {
  return rowsOf<Row>(
    connection.prepare(`
      select r.id, r.attempts, r.due_at, r.suspect, r.history, l.salt, l.key, l.type, l.message_id, l.created_at
      from tidemark_retry r
      left join ${logTable(topic.id)} l on l.id = r.id
      where r.subscription_id = ? and r.id > ? and r.token is null
      order by r.id
      limit ?`),
    subscription.id,
    after,
    limit,
  ).map(row => ({
    id: row.id,
    salt: row.salt,
    messageId: row.message_id,
    key: row.key,
    type: row.type,
    createdAt: row.created_at,
    attempts: row.attempts,
    dueAt: row.due_at,
    suspect: row.suspect !== 0,
    history: JSON.parse(row.history),
  }))
}
