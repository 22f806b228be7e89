import { ConfigError } from '../../../errors.ts'
import type { SqliteDatabase, SqliteDriver, SqliteStatement, SqlValue } from '../driver.ts'
import { fromRow, type SynchronousDatabase, toBound, toDatabase } from './synchronous-library.ts'

/** The class that the package `libsql` exports. */
export type LibsqlClass = new (path: string, options?: object) => LibsqlDatabase

/** A database of `libsql`. */
export type LibsqlDatabase = {
  /** Whether it is open. */
  readonly open: boolean
  /** Whether a transaction is open. */
  readonly inTransaction: boolean
  /** Runs statements. */
  readonly exec: (sql: string) => unknown
  /** Prepares a statement. */
  readonly prepare: (sql: string) => unknown
  /** Closes it. */
  readonly close: () => unknown
}

type Statement = {
  run(values: unknown[]): { readonly changes: number }
  get(values: unknown[]): unknown
  all(values: unknown[]): unknown[]
  raw(enabled: boolean): unknown
}

type Library = SynchronousDatabase<Statement>

/**
 * Topics in a local file through the package `libsql` (0.5). Its SQLite is older than what Tidemark trusts with a
 * write-ahead log, so the file has a rollback journal: every commit waits for the disk. `options` go to the constructor.
 *
 * @example
 * const tm = await open({ driver: libsql(Database, './data/app.db') })
 */
export function libsql(Database: LibsqlClass, file: string, options: object = {}): SqliteDriver {
  if (typeof Database !== 'function') {
    throw new ConfigError('libsql', Database, "the class that 'libsql' exports, then the path of the file")
  }
  return {
    engine: 'sqlite',
    name: 'libsql',
    file,
    olderSqlite: 'rollback-journal',
    open: (path, { readOnly = false } = {}) => {
      const db = toDatabase(new Database(path, { ...options, timeout: 0 }) as Library, toStatement)
      if (readOnly) db.exec('pragma query_only = on')
      return db
    },
  }
}

/** A connection that the program has opened with the library. */
export const libsqlDatabase = (db: object): SqliteDatabase => toDatabase(db as Library, toStatement)

/**
 * Parameters always go in one array: libsql would take a single Buffer or null for the list itself, and crash the
 * process.
 */
const toStatement = (statement: Statement, sourceSQL: string): SqliteStatement => ({
  sourceSQL,
  run: (...values) => statement.run(bound(values)),
  get: (...values) => withoutMetadata(fromRow(statement.get(bound(values)))),
  all: (...values) => statement.all(bound(values)).map(fromRow),
  // If a loop ends early, its iterator does not reset the statement, which keeps the lock.
  iterate: (...values) => statement.all(bound(values)).map(fromRow),
  setReturnArrays: enabled => void statement.raw(enabled),
})

const bound = (values: readonly SqlValue[]): SqlValue[] => values.map(toBound)

/** The library adds the query's duration to the row. */
function withoutMetadata(row: unknown): unknown {
  if (typeof row === 'object' && row !== null && '_metadata' in row && !Array.isArray(row)) delete row._metadata
  return row
}
