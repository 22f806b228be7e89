/**
 * Arrived ticks as contiguous ranges. Between two ranges is a gap; it is stored with the range after it.
 *
 *   0 … 990          2000 … 3990  held          9000 … 9990  held
 *           └─ gap ─┘                └── gap ──┘
 *
 * A batch that arrives joins the ranges it touches. A range is held while batches wait for the gap before it, and its
 * batches are released when that gap closes or is given up. It is never held again, because arrived ticks stay arrived.
 */
import type { ArrivedRange, GapRow, LedgerRows, LedgerStart, TickRange } from '../databases/ledger-store.ts'

/** Missing ticks. */
export type Gap = TickRange & {
  /** Time at which it was noticed, in milliseconds since 1970, by the database's clock. */
  readonly since: number
  /** Whether it has been open for longer than `gapWarningTimeout` and was reported. */
  readonly isPermanent: boolean
  /** Whether batches after it no longer wait for it. */
  readonly isSkipped: boolean
}

export type Arrival = {
  /** Range that contains the new ticks now. */
  readonly range: ArrivedRange
  /** Number of batches that no longer wait. */
  readonly released: number
}

/** `isProcessed`: batches after these ticks do not have to wait for any before them. */
export async function arrive(
  rows: LedgerRows,
  start: LedgerStart,
  ticks: TickRange,
  { isProcessed }: { readonly isProcessed: boolean },
): Promise<Arrival> {
  const parts = await rows.arrivedIn(widened(ticks, start.samplingInterval))
  const alone = await newRange(rows, start, ticks, parts[0])
  const whole = joined(isProcessed ? { ...alone, isHeld: false } : alone, parts)
  const [first] = parts
  if (parts.length > 1 || first === undefined || !isSame(first, whole)) await rows.replaceArrived(parts, whole)
  if (first?.tickStart !== whole.tickStart) await noticeGapAfter(rows, whole)
  const wasHeld = parts.some(part => part.isHeld)
  return { range: whole, released: wasHeld && !whole.isHeld ? await rows.releaseWaiting(whole) : 0 }
}

/** Ranges that touch these ticks or are one step away. */
export const widened = ({ tickStart, tickEnd }: TickRange, samplingInterval: number): TickRange => ({
  tickStart: tickStart - samplingInterval,
  tickEnd: tickEnd + samplingInterval,
})

/** The ticks as a new range. Inside a gap, they are behind a part of it that was noticed when the gap was. */
async function newRange(
  rows: LedgerRows,
  { firstTick }: LedgerStart,
  ticks: TickRange,
  firstPart: ArrivedRange | undefined,
): Promise<ArrivedRange> {
  const continues = firstPart !== undefined && firstPart.tickStart <= ticks.tickStart
  if (continues || !(await isBehindGap(rows, firstTick, ticks.tickStart))) {
    return { ...ticks, isHeld: continues, gapSince: null, gapReportedAt: null, isGapSkipped: false }
  }
  const next = firstPart ?? (await rows.arrivedAfter(ticks.tickStart))
  const { gapSince, gapReportedAt, isGapSkipped } = next?.gapSince != null ? next : { ...NO_GAP, gapSince: rows.now }
  return { ...ticks, isHeld: !isGapSkipped, gapSince, gapReportedAt, isGapSkipped }
}

async function isBehindGap(rows: LedgerRows, firstTick: number | null, tick: number): Promise<boolean> {
  if (firstTick !== null && tick > firstTick) return true
  return (await rows.arrivedBefore(tick)) !== null
}

/** One range of all. The gap before it is that of its first part; it is released if one of them is. */
function joined(alone: ArrivedRange, parts: readonly ArrivedRange[]): ArrivedRange {
  const all = [...parts, alone]
  const first = parts[0] !== undefined && parts[0].tickStart <= alone.tickStart ? parts[0] : alone
  return {
    ...first,
    tickEnd: Math.max(...all.map(({ tickEnd }) => tickEnd)),
    isHeld: all.every(({ isHeld }) => isHeld),
  }
}

/** The first range has a gap before it once something lower arrives. */
async function noticeGapAfter(rows: LedgerRows, { tickStart }: ArrivedRange): Promise<void> {
  const next = await rows.arrivedAfter(tickStart)
  if (next !== null && next.gapSince === null) await rows.replaceArrived([next], { ...next, gapSince: rows.now })
}

const NO_GAP = { gapSince: null, gapReportedAt: null, isGapSkipped: false }

const isSame = (a: ArrivedRange, b: ArrivedRange): boolean =>
  a.tickStart === b.tickStart && a.tickEnd === b.tickEnd && a.isHeld === b.isHeld

/** Gap before an arrived range. */
export function gapBefore(row: GapRow, start: LedgerStart): Gap {
  const { gapSince, gapReportedAt, isGapSkipped } = row
  const range = missingBetween(row.previousEnd, row.tickStart, start)
  return { ...range, since: gapSince ?? 0, isPermanent: gapReportedAt !== null, isSkipped: isGapSkipped }
}

/**
 * Ticks between the end of a range (null: none) and the start of the next: from `end + samplingInterval` in steps of
 * it, below the start. A batch that starts off the grid leaves the tick before it missing.
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
