import { type BackfillRow as BackfillColumns, type BackfillOwner, backfillRecordOf } from '../backfill-row.ts'
import type { BackfillRecord } from '../backfills.ts'

/** A row of `backfill` as `to_jsonb` returns it. */
export type BackfillRow = BackfillColumns<BackfillRecord['settings'], string>

export function toBackfillRecord(row: BackfillRow, owner: BackfillOwner): BackfillRecord {
  const times = {
    started_at: Date.parse(row.started_at),
    updated_at: Date.parse(row.updated_at),
    ended_at: row.ended_at === null ? null : Date.parse(row.ended_at),
  }
  return backfillRecordOf({ ...row, ...times }, owner)
}
