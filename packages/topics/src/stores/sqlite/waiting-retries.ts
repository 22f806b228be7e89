import type { RetryQuery, RetryRecord } from '../leases.ts'
import type { SubscriptionRecord } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { rowsWithin } from './bounded-rows.ts'
import { logTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

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

const retryBytes = ({ history, key }: Row): number => history.length + (key?.length ?? 0)

/** By primary key, starting after `after`. Rows that are skipped are in flight. */
export function listRetries(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  query: RetryQuery,
): RetryRecord[] {
  const statement = tx.prepare(`
    select r.id, r.attempts, r.due_at, r.suspect, r.history, l.salt, l.key, l.type, l.message_id, l.created_at
    from tidemark_retry r
    left join ${logTable(topic.id)} l on l.id = r.id
    where r.subscription_id = ? and r.id > ? and r.token is null
    order by r.id
    limit ?`)
  const values = [subscription.id, query.after, query.limit]
  return rowsWithin<Row>(statement, values, query, retryBytes).rows.map(row => ({
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
