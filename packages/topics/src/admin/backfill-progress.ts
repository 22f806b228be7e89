import type { BackfillRecord, BackfillScope, BackfillStatus } from '../stores/backfills.ts'

/** Progress of a backfill. */
export type BackfillProgress = {
  /** Status of the backfill. */
  readonly status: BackfillStatus
  /** Which messages it covers. */
  readonly scope: BackfillScope
  /** Messages assigned to the group so far. */
  readonly processed: number
  /** Progress, 0 to 1. */
  readonly progress: number
  /** Share of the backfilled messages that consumers have claimed, 0 to 1. */
  readonly claimed: number
  /** Messages per second. */
  readonly ratePerSecond: number
  /** Remaining time at the current rate in milliseconds; null if it is not running or has just started. */
  readonly etaMs: number | null
  /** Whether it runs more slowly than it could, because live traffic is above its target latency. */
  readonly slowed: boolean
  /** Start of the backfill. */
  readonly startedAt: Date
  /** Time of the last progress. */
  readonly updatedAt: Date
  /** End of the backfill; null while it runs. */
  readonly endedAt: Date | null
  /** Error of a failed backfill, or null. */
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
    slowed: status === 'RUNNING' && record.slowed,
    startedAt: new Date(startedAt),
    updatedAt: new Date(updatedAt),
    endedAt: endedAt === null ? null : new Date(endedAt),
    error: record.error,
  }
}
