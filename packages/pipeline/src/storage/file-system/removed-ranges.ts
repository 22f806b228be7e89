/**
 * {runId}/raw/removed/{first tick}_{last tick}: an empty file for each range of ticks whose batches were removed. It is
 * written before the first batch is removed, so that a missing file can always be explained; a batch that still exists
 * counts as existing. To remove more, a wider range is written and the ranges inside it are removed afterwards: two
 * processes that do so at the same time leave overlapping ranges, and nothing is forgotten.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TickRange } from '../../databases/ledger-store.ts'
import { StorageError } from '../errors.ts'
import { IncomingFile, syncFolder } from './durable-file.ts'
import { isMissing } from './missing.ts'
import type { SafePaths } from './safe-paths.ts'

const NAME = /^(\d{19})_(\d{19})$/

const folderOf = (runId: string): string => `${runId}/raw/removed`
const nameOf = ({ tickStart, tickEnd }: TickRange): string => `${digits(tickStart)}_${digits(tickEnd)}`
const digits = (tick: number): string => String(tick).padStart(19, '0')

/** Ascending; overlapping ranges are merged. */
export async function readRemoved(paths: SafePaths, runId: string): Promise<TickRange[]> {
  return merged((await storedRanges(paths, runId)).ranges)
}

/** Durable when it resolves. */
export async function recordRemoved(paths: SafePaths, runId: string, range: TickRange): Promise<void> {
  const { ranges } = await storedRanges(paths, runId)
  if (ranges.some(known => contains(known, range))) return
  const folder = await paths.makeFolder(folderOf(runId))
  await using file = await IncomingFile.create(paths.incoming, `${folderOf(runId)}/${nameOf(range)}`)
  await file.place(folder, nameOf(range))
  for (const known of ranges) if (contains(range, known)) await rm(join(folder, nameOf(known)), { force: true })
  await syncFolder(folder)
}

async function storedRanges(paths: SafePaths, runId: string): Promise<{ ranges: TickRange[] }> {
  const folder = await paths.existing(folderOf(runId))
  if (folder === undefined) return { ranges: [] }
  try {
    return { ranges: (await readdir(folder)).flatMap(rangeOf) }
  } catch (error) {
    if (isMissing(error)) return { ranges: [] }
    throw new StorageError('Listing', folderOf(runId), error)
  }
}

function rangeOf(name: string): TickRange[] {
  const [, start, end] = NAME.exec(name) ?? []
  const range = { tickStart: Number(start), tickEnd: Number(end) }
  return Number.isSafeInteger(range.tickStart) && Number.isSafeInteger(range.tickEnd) ? [range] : []
}

function merged(ranges: readonly TickRange[]): TickRange[] {
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
