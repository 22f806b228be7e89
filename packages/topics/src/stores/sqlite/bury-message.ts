import type { FailedAttempt } from '../failure-record.ts'
import type { SubscriptionRecord } from '../subscription-record.ts'
import { logTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** Moves a message out of delivery, with its payload and history. Call it in the settling transaction. */
export function buryMessage(
  tx: Transaction,
  topicId: number,
  subscription: Pick<SubscriptionRecord, 'id' | 'group'>,
  {
    id,
    attempts,
    version,
    history,
  }: { id: number; attempts: number; version: number; history: readonly FailedAttempt[] },
): void {
  const last = history.at(-1)
  const error = { name: last?.name ?? 'Error', message: last?.message ?? '' }
  tx.prepare(`
      insert into tidemark_dead_letter (
        topic_id, subscription_id, group_name, log_id, salt, message_id, key, type, headers, payload, created_at,
        attempts, version, error, history, dead_at
      )
      select ?, ?, ?, id, salt, message_id, key, type, headers, payload, created_at, ?, ?, ?, ?, ?
      from ${logTable(topicId)}
      where id = ?`).run(
    topicId,
    subscription.id,
    subscription.group,
    attempts,
    version,
    JSON.stringify(error),
    JSON.stringify(history),
    tx.now(),
    id,
  )
  tx.prepare('delete from tidemark_retry where subscription_id = ? and id = ?').run(subscription.id, id)
}
