import { rm, rmdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { TickRange } from '../../databases/ledger-store.ts'
import { TICKS_PER_L1 } from '../keys.ts'
import { contains } from '../removed-names.ts'
import type { RemovedBatches } from '../storage.ts'
import { listBatches } from './batch-listing.ts'
import { isMissing } from './missing.ts'
import type { SafePaths } from './safe-paths.ts'

/**
 * Removes batches that are completely in the range, and folders that become empty. Files removed by others meanwhile
 * are fine.
 */
export async function removeBatchFiles(paths: SafePaths, runId: string, range: TickRange): Promise<RemovedBatches> {
  const query = { prefix: `${runId}/`, fromTick: range.tickStart, toTick: range.tickEnd }
  const folders = new Set<string>()
  let batches = 0
  let bytes = 0
  for (let after: string | null = ''; after !== null; ) {
    const page = await listBatches(paths, { ...query, ...(after !== '' && { after }) })
    for (const batch of page.items) {
      if (!contains(range, batch)) continue
      const path = await paths.existing(batch.key)
      const size = path === undefined ? undefined : await sizeOf(path)
      if (path === undefined || size === undefined) continue
      await rm(path, { force: true })
      if (lastTickOf(batch) <= range.tickEnd) folders.add(dirname(path))
      batches++
      bytes += size
    }
    after = page.next
  }
  for (const folder of folders) await removeIfEmpty(folder)
  return { batches, bytes }
}

export async function mtimeOf(path: string): Promise<number | null> {
  try {
    return Math.floor((await stat(path)).mtimeMs)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** Last tick of a batch's folder. The folder is removed only if no batch can be added to it, so that no writer misses it. */
const lastTickOf = ({ tickStart }: TickRange): number => (Math.floor(tickStart / TICKS_PER_L1) + 1) * TICKS_PER_L1 - 1

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** A folder that a writer has just created, or that has other files, stays. */
async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => undefined)
}
