import type { BackfillRecord, BackfillScope, BackfillStatus } from './backfills.ts'
import type { SubscriptionRef } from './subscription-record.ts'

/**
 * The columns of a backfill that every engine has. `Settings` and `Time` are in the form that the engine's database
 * returns.
 */
export type BackfillRow<Settings = BackfillRecord['settings'], Time = number> = {
  subscription_id: number
  topic_id: number
  epoch: number
  status: BackfillStatus
  scope: BackfillScope
  settings: Settings
  lower_id: number
  upper_id: number
  checkpoint_id: number
  cursor_id: number
  processed: number
  /** 0 or 1 where the engine has no booleans. */
  slowed: boolean | number
  started_at: Time
  updated_at: Time
  ended_at: Time | null
  error: string | null
}

/** The group that a backfill is for. */
export type BackfillOwner = Pick<SubscriptionRef, 'uid' | 'group'>

export const backfillRecordOf = (row: BackfillRow, { uid, group }: BackfillOwner): BackfillRecord => ({
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
  slowed: Boolean(row.slowed),
  startedAt: row.started_at,
  updatedAt: row.updated_at,
  endedAt: row.ended_at,
  error: row.error,
})

/** Without the settings that only the store uses. */
const settingsOf = ({ settings: { batchSize, maxPerSecond, targetMs } }: BackfillRow): BackfillRecord['settings'] => ({
  batchSize,
  maxPerSecond,
  targetMs,
})
