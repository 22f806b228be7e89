import type { FailedAttempt } from '../failure-record.ts'
import type { RetryQuery, RetryRecord } from '../leases.ts'
import type { SubscriptionRecord } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Transaction } from './transaction.ts'

const ms = (time: string): string => `floor(extract(epoch from ${time}) * 1000)`

/** The text of a failed attempt is rarely longer than this; its exact length would require reading it. */
const HISTORY_BYTES = 2_200

/** The rows that fit, and always the first. */
const LIST = `
  select r.id, r.attempts, ${ms('r.due_at')} as due_at, r.suspect, r.history, r.salt, r.key, r.type, r.message_id,
    ${ms('r.created_at')} as created_at
  from (
    select *, row_number() over w as place,
      sum(attempts * ${HISTORY_BYTES} + coalesce(octet_length(key), 0)) over w as total
    from tidemark_fn.waiting_retries($1, $2, $3, $4)
    window w as (order by id rows unbounded preceding)
  ) as r
  where r.total <= coalesce($5::bigint, r.total) or r.place = 1
  order by r.id`

export async function listRetries(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  { after, limit, maxBytes }: RetryQuery,
): Promise<RetryRecord[]> {
  const rows = await tx.query(tx.sql(LIST), [topic.id, subscription.id, after, limit, maxBytes ?? null])
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
