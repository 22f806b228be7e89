import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TickRange } from '../../databases/ledger-store.ts'
import { StorageError } from '../errors.ts'
import { contains, merged, removedFolder, removedName, removedRange } from '../removed-names.ts'
import { IncomingFile, syncFolder } from './durable-file.ts'
import { isMissing } from './missing.ts'
import type { SafePaths } from './safe-paths.ts'

/** Ascending; overlapping ranges are merged. */
export async function readRemoved(paths: SafePaths, runId: string): Promise<TickRange[]> {
  return merged((await storedRanges(paths, runId)).ranges)
}

/** Durable when it resolves. */
export async function recordRemoved(paths: SafePaths, runId: string, range: TickRange): Promise<void> {
  const { ranges } = await storedRanges(paths, runId)
  if (ranges.some(known => contains(known, range))) return
  const folder = await paths.makeFolder(removedFolder(runId))
  await using file = await IncomingFile.create(paths.incoming, `${removedFolder(runId)}/${removedName(range)}`)
  await file.place(folder, removedName(range))
  for (const known of ranges) if (contains(range, known)) await rm(join(folder, removedName(known)), { force: true })
  await syncFolder(folder)
}

async function storedRanges(paths: SafePaths, runId: string): Promise<{ ranges: TickRange[] }> {
  const folder = await paths.existing(removedFolder(runId))
  if (folder === undefined) return { ranges: [] }
  try {
    return { ranges: (await readdir(folder)).flatMap(removedRange) }
  } catch (error) {
    if (isMissing(error)) return { ranges: [] }
    throw new StorageError('Listing', removedFolder(runId), error)
  }
}
