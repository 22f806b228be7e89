/**
 * {runId}/raw/removed/{first tick}_{last tick}: an empty file for each range of ticks whose batches were removed. It is
 * written before the first batch is removed, so that a missing file can always be explained; a batch that still exists
 * counts as existing. To remove more, a wider range is written and the ranges inside it are removed afterwards: two
 * processes that do so at the same time leave overlapping ranges, and nothing is forgotten.
 */
import type { TickRange } from '../databases/ledger-store.ts'

const NAME = /^(\d{19})_(\d{19})$/

export const removedFolder = (runId: string): string => `${runId}/raw/removed`
export const removedName = ({ tickStart, tickEnd }: TickRange): string => `${digits(tickStart)}_${digits(tickEnd)}`
const digits = (tick: number): string => String(tick).padStart(19, '0')

export function removedRange(name: string): TickRange[] {
  const [, start, end] = NAME.exec(name) ?? []
  const range = { tickStart: Number(start), tickEnd: Number(end) }
  return Number.isSafeInteger(range.tickStart) && Number.isSafeInteger(range.tickEnd) ? [range] : []
}

/** Ascending; overlapping ranges are merged. */
export function merged(ranges: readonly TickRange[]): TickRange[] {
  const whole: TickRange[] = []
  for (const range of ranges.toSorted((a, b) => a.tickStart - b.tickStart || b.tickEnd - a.tickEnd)) {
    const last = whole.at(-1)
    if (last === undefined || range.tickStart > last.tickEnd + 1) whole.push(range)
    else whole[whole.length - 1] = { ...last, tickEnd: Math.max(last.tickEnd, range.tickEnd) }
  }
  return whole
}

export const contains = (whole: TickRange, part: TickRange): boolean =>
  whole.tickStart <= part.tickStart && part.tickEnd <= whole.tickEnd
