import { SubscriptionGoneError } from '../../errors.ts'
import type { BackfillRecord, BackfillScope, BackfillStatus } from '../backfills.ts'
import type { SubscriptionRef } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { rowOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

export type BackfillRow = {
  subscription_id: number
  topic_id: number
  epoch: number
  status: BackfillStatus
  scope: BackfillScope
  settings: string
  lower_id: number
  upper_id: number
  checkpoint_id: number
  cursor_id: number
  processed: number
  started_at: number
  updated_at: number
  ended_at: number | null
  error: string | null
}

type Owner = Pick<SubscriptionRef, 'uid' | 'group'>

export const toBackfillRecord = (row: BackfillRow, { uid, group }: Owner): BackfillRecord => ({
  topicId: row.topic_id,
  subscriptionId: row.subscription_id,
  subscriptionUid: uid,
  group,
  epoch: row.epoch,
  status: row.status,
  scope: row.scope,
  settings: settingsOf(row),
  lowerId: row.lower_id,
  upperId: row.upper_id,
  checkpointId: row.checkpoint_id,
  cursorId: row.cursor_id,
  processed: row.processed,
  startedAt: row.started_at,
  updatedAt: row.updated_at,
  endedAt: row.ended_at,
  error: row.error,
})

/** Without what only the store itself keeps there. */
function settingsOf({ settings }: BackfillRow): BackfillRecord['settings'] {
  const { batchSize, maxPerSecond, targetMs } = JSON.parse(settings) as BackfillRecord['settings']
  return { batchSize, maxPerSecond, targetMs }
}

export function findBackfill(tx: Transaction, subscriptionId: number): BackfillRecord | undefined {
  const row = rowOf<BackfillRow & { uid: number; group_name: string }>(
    tx.prepare(`
      select b.*, s.uid, s.group_name
      from tidemark_backfill b
      join tidemark_subscription s on s.id = b.subscription_id
      where b.subscription_id = ?`),
    subscriptionId,
  )
  return row && toBackfillRecord(row, { uid: row.uid, group: row.group_name })
}

export function requiredBackfill(tx: Transaction, topic: TopicRecord, { id, group }: SubscriptionRef): BackfillRecord {
  const found = findBackfill(tx, id)
  if (found === undefined) throw new SubscriptionGoneError(topic.name, group)
  return found
}
