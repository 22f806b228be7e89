/** What the pipeline stores is readable by its owner alone. What exists keeps the rights it was given. */
import { closeSync, openSync } from 'node:fs'

export const PRIVATE_FOLDER = 0o700
export const PRIVATE_FILE = 0o600

/**
 * Before SQLite opens it, which gives its -wal and -shm the same rights. A file that exists is not even opened: closing it
 * would let go of the locks that this process has on it.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE_FILE))
  } catch {
    // It exists; or nothing can be made there, of which SQLite says more when it opens it.
  }
}
