import { DatabaseSync } from 'node:sqlite'
import { createPrivateFile } from '../../private-files.ts'
import { isBusy, mapError } from './engine-errors.ts'

/**
 * Takes a file for this process alone; null where another has it. Node has no locks on files, SQLite has: an exclusive
 * transaction that is never committed. The operating system lets go of it when the process ends, in whatever way.
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
