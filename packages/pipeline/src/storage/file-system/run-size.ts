import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunSize } from '../managed-storage.ts'
import { isMissing } from './missing.ts'

/** Everything in a folder and below it. */
export async function sizeOf(folder: string): Promise<RunSize> {
  let files = 0
  let bytes = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    try {
      bytes += (await stat(join(entry.parentPath, entry.name))).size
      files++
    } catch (error) {
      // Moved to quarantine meanwhile.
      if (!isMissing(error)) throw error
    }
  }
  return { files, bytes }
}
