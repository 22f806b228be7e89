import { DatabaseVersionError } from '../../../errors.ts'
import type { SqliteDriver } from '../driver.ts'

/** The SQLite of Node itself, which is used where nobody gives a driver. Loaded when it is first used. */
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
