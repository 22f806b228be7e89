import { InvalidTransitionError, SubscriptionGoneError } from '../../errors.ts'
import type { SubscriptionRecord, SubscriptionStatus } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { rowOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

const ALLOWED: Record<SubscriptionStatus, readonly string[]> = {
  ACTIVE: ['PAUSED'],
  PAUSED: ['ACTIVE'],
  // Set by detectDead only.
  DEAD: [],
  CANCELLED: ['ACTIVE', 'PAUSED', 'DEAD'],
}

export function setStatus(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  status: SubscriptionStatus,
): void {
  const row = rowOf<{ status: string }>(
    tx.prepare('select status from tidemark_subscription where id = ?'),
    subscription.id,
  )
  if (row === undefined) throw new SubscriptionGoneError(topic.name, subscription.group)
  // Cancelling twice changes nothing.
  if (status === 'CANCELLED' && row.status === 'CANCELLED') return
  if (!ALLOWED[status].includes(row.status)) {
    throw new InvalidTransitionError(topic.name, subscription.group, row.status, status)
  }
  // Every activation starts a new epoch with a clean record, so that work for one epoch is done once.
  tx.prepare(`
      update tidemark_subscription
      set status = ?2, status_at = ?3, epoch = epoch + ?4,
        misses = case when ?4 then 0 else misses end,
        missed_at = case when ?4 then null else missed_at end,
        last_heartbeat_at = case when ?4 then ?3 else last_heartbeat_at end
      where id = ?1`).run(subscription.id, status, tx.now(), status === 'ACTIVE' ? 1 : 0)
}
