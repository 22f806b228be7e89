import { createPrivateFile } from '../../private-files.ts'
import { isBusy, mapError } from './engine-errors.ts'
import { DatabaseSync } from './node-sqlite.ts'

/**
 * Locks a file for this process; null if another process holds it. Node has no file locks, but SQLite has: an exclusive
 * transaction that is never committed. The operating system releases it when the process ends, however it ends.
 */
export function lockFile(path: string): Disposable | null {
  let db: DatabaseSync | undefined
  try {
    createPrivateFile(path)
    db = new DatabaseSync(path, { timeout: 0 })
    db.exec('begin exclusive')
    return db
  } catch (error) {
    db?.close()
    if (isBusy(error)) return null
    throw mapError(error, path)
  }
}
