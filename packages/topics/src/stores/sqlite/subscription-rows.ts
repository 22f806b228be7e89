import type { SubscriptionRecord, SubscriptionStatus } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { rowOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

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

export function findSubscription(tx: Transaction, topic: TopicRecord, group: string): SubscriptionRecord | undefined {
  const row = rowOf<SubscriptionRow>(
    tx.prepare(`select ${SUBSCRIPTION_COLUMNS} from tidemark_subscription where topic_id = ? and group_name = ?`),
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
