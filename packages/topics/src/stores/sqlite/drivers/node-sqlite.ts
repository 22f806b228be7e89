import { DatabaseVersionError } from '../../../errors.ts'
import type { SqliteDriver } from '../driver.ts'

/** Node's own SQLite, the default driver. Loaded on first use. */
export const nodeSqlite: SqliteDriver = {
  engine: 'sqlite',
  name: 'node:sqlite',
  file: ':memory:',
  open(path, { readOnly = false } = {}) {
    const sqlite = process.getBuiltinModule('node:sqlite')
    if (sqlite === undefined) {
      throw new DatabaseVersionError(
        "This runtime has no 'node:sqlite'. Update Node, or give open() a driver: betterSqlite3(Database, file)",
      )
    }
    return new sqlite.DatabaseSync(path, { timeout: 0, readOnly })
  },
}
