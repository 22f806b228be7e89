/** Files of the pipeline are readable by their owner alone. Existing files keep their mode. */
import { closeSync, openSync } from 'node:fs'

export const PRIVATE_FOLDER = 0o700
export const PRIVATE_FILE = 0o600

/**
 * Called before SQLite opens it, which gives its -wal and -shm files the same mode. An existing file is not even
 * opened: closing it would release the locks that this process has on it.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE_FILE))
  } catch {
    // It exists; or it cannot be created, which SQLite reports in more detail when it opens it.
  }
}
