import type { BackfillRecord, BackfillScope, BackfillStatus } from '../backfills.ts'
import type { SubscriptionRef } from '../subscription-record.ts'

/** A row of `backfill` as `to_jsonb` gives it. */
export type BackfillRow = {
  topic_id: number
  subscription_id: number
  epoch: number
  status: BackfillStatus
  scope: BackfillScope
  settings: BackfillRecord['settings']
  lower_id: number
  upper_id: number
  checkpoint_id: number
  cursor_id: number
  processed: number
  started_at: string
  updated_at: string
  ended_at: string | null
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
  startedAt: Date.parse(row.started_at),
  updatedAt: Date.parse(row.updated_at),
  endedAt: row.ended_at === null ? null : Date.parse(row.ended_at),
  error: row.error,
})

/** Without what only the store itself keeps there. */
const settingsOf = ({ settings: { batchSize, maxPerSecond, targetMs } }: BackfillRow): BackfillRecord['settings'] => ({
  batchSize,
  maxPerSecond,
  targetMs,
})
