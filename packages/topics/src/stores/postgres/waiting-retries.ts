import type { RetryQuery, RetryRecord } from '../fan-out-store.ts'
import type { FailedAttempt, SubscriptionRecord, TopicRecord } from '../store.ts'
import type { Database } from './database.ts'

const ms = (time: string): string => `floor(extract(epoch from ${time}) * 1000)`

const LIST = `
  select r.id, r.attempts, ${ms('r.due_at')} as due_at, r.suspect, r.history, r.salt, r.key, r.type, r.message_id,
    ${ms('r.created_at')} as created_at
  from tidemark.waiting_retries($1, $2, $3, $4) as r`

export async function listRetries(
  database: Database,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  { after, limit }: RetryQuery,
): Promise<RetryRecord[]> {
  const rows = await database.query(database.sql(LIST), [topic.id, subscription.id, after, limit])
  return rows.map(row => ({
    id: Number(row.id),
    salt: row.salt === null ? null : Number(row.salt),
    messageId: row.message_id ?? null,
    key: row.key ?? null,
    type: row.type ?? null,
    createdAt: row.created_at === null ? null : Number(row.created_at),
    attempts: Number(row.attempts),
    dueAt: Number(row.due_at),
    suspect: row.suspect === 't',
    history: JSON.parse(row.history ?? '[]') as FailedAttempt[],
  }))
}
