import type { GapRow, LedgerStart, TickRange } from '../databases/ledger-store.ts'

/** Ticks that should be there and have not arrived. */
export type Gap = TickRange & {
  /** When it was first noticed; unix time in milliseconds, by the database's clock. */
  readonly since: number
  /** It was reported as permanent: open for longer than `gapWarningTimeout`. */
  readonly isPermanent: boolean
  /** What follows does not wait for it any more. */
  readonly isSkipped: boolean
}

/** The gap before an arrived range. */
export function gapBefore(row: GapRow, start: LedgerStart): Gap {
  const { gapSince, gapReportedAt, isGapSkipped } = row
  const range = missingBetween(row.previousEnd, row.tickStart, start)
  return { ...range, since: gapSince ?? 0, isPermanent: gapReportedAt !== null, isSkipped: isGapSkipped }
}

/**
 * The ticks between where one range ends (null: none before) and the next starts: from `end + samplingInterval`, in
 * steps of it, as long as they are below the start. A batch that starts off the grid leaves the tick before it missing.
 */
export function missingBetween(
  previousEnd: number | null,
  nextStart: number,
  { samplingInterval, firstTick }: LedgerStart,
): TickRange {
  const tickStart = previousEnd === null ? (firstTick ?? 0) : previousEnd + samplingInterval
  const steps = Math.ceil((nextStart - tickStart) / samplingInterval) - 1
  return { tickStart, tickEnd: tickStart + steps * samplingInterval }
}
