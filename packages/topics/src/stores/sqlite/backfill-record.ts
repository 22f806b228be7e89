import { SubscriptionGoneError } from '../../errors.ts'
import { type BackfillRow as BackfillColumns, type BackfillOwner, backfillRecordOf } from '../backfill-row.ts'
import type { BackfillRecord } from '../backfills.ts'
import type { SubscriptionRef } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { rowOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

/** A row of `tidemark_backfill`; the settings are JSON. */
export type BackfillRow = BackfillColumns<string>

export const toBackfillRecord = (row: BackfillRow, owner: BackfillOwner): BackfillRecord =>
  backfillRecordOf({ ...row, settings: JSON.parse(row.settings) as BackfillRecord['settings'] }, owner)

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
