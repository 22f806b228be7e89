import type { BackfillRecord, BackfillScope, BackfillStatus } from '../stores/backfills.ts'

export type BackfillProgress = {
  readonly status: BackfillStatus
  readonly scope: BackfillScope
  /** Messages made the group's so far. */
  readonly processed: number
  /** From 0 to 1: how far it has come between its bounds. */
  readonly progress: number
  /** From 0 to 1: how much of that the group's consumers have claimed. */
  readonly claimed: number
  readonly ratePerSecond: number
  /** At the present rate; null where it isn't running or has only begun. */
  readonly etaMs: number | null
  readonly startedAt: Date
  readonly updatedAt: Date
  readonly endedAt: Date | null
  readonly error: string | null
}

export function toProgress(record: BackfillRecord): BackfillProgress {
  const { lowerId, upperId, checkpointId, cursorId, startedAt, updatedAt, endedAt, status } = record
  const size = upperId - lowerId
  const done = checkpointId - lowerId
  const elapsedMs = (endedAt ?? updatedAt) - startedAt
  const hasPace = status === 'RUNNING' && done > 0 && elapsedMs > 0
  return {
    status,
    scope: record.scope,
    processed: record.processed,
    progress: size <= 0 ? 1 : done / size,
    claimed: size <= 0 ? 1 : Math.max(0, cursorId - lowerId) / size,
    ratePerSecond: elapsedMs > 0 ? (record.processed * 1_000) / elapsedMs : 0,
    etaMs: hasPace ? Math.round(((upperId - checkpointId) * elapsedMs) / done) : null,
    startedAt: new Date(startedAt),
    updatedAt: new Date(updatedAt),
    endedAt: endedAt === null ? null : new Date(endedAt),
    error: record.error,
  }
}
