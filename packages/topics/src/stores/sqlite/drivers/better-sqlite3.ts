import { ConfigError } from '../../../errors.ts'
import type { SqliteDatabase, SqliteDriver, SqliteStatement, SqlValue } from '../driver.ts'
import { fromRow, type SynchronousDatabase, toBound, toDatabase } from './synchronous-library.ts'

/** The class that the package `better-sqlite3` exports. */
export type BetterSqlite3Class = new (path: string, options?: object) => BetterSqlite3Database

/** A database of `better-sqlite3`. */
export type BetterSqlite3Database = {
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
  run(...values: unknown[]): { readonly changes: number | bigint }
  get(...values: unknown[]): unknown
  all(...values: unknown[]): unknown[]
  iterate(...values: unknown[]): Iterable<unknown>
  raw(enabled: boolean): unknown
}

type Library = SynchronousDatabase<Statement>

/**
 * Topics in a SQLite file through the package `better-sqlite3` (13 or later) instead of `node:sqlite`. `options` go to
 * its constructor, `nativeBinding` for example.
 *
 * @example
 * const tm = await open({ driver: betterSqlite3(Database, './data/app.db') })
 */
export function betterSqlite3(Database: BetterSqlite3Class, file: string, options: object = {}): SqliteDriver {
  if (typeof Database !== 'function') {
    throw new ConfigError(
      'betterSqlite3',
      Database,
      "the class that 'better-sqlite3' exports, then the path of the file",
    )
  }
  return {
    engine: 'sqlite',
    name: 'better-sqlite3',
    file,
    open: (path, { readOnly = false } = {}) =>
      toDatabase(new Database(path, { ...options, readonly: readOnly, timeout: 0 }) as Library, toStatement),
  }
}

/** A connection that the program has opened with the library. */
export const betterSqlite3Database = (db: object): SqliteDatabase => toDatabase(db as Library, toStatement)

function toStatement(statement: Statement, sourceSQL: string): SqliteStatement {
  const bind = binder(sourceSQL)
  return {
    sourceSQL,
    run: (...values) => statement.run(...bind(values)),
    get: (...values) => fromRow(statement.get(...bind(values))),
    all: (...values) => statement.all(...bind(values)).map(fromRow),
    *iterate(...values) {
      for (const row of statement.iterate(...bind(values))) yield fromRow(row)
    },
    setReturnArrays: enabled => void statement.raw(enabled),
  }
}

/**
 * This library treats numbered parameters as named ones: `?2` is property '2' of an object. Unnumbered ones come after
 * it.
 */
function binder(sql: string): (values: readonly SqlValue[]) => unknown[] {
  const numbers = [...sql.matchAll(/\?(\d+)/g)].map(([, number]) => Number(number))
  const count = Math.max(0, ...numbers)
  if (count === 0) return values => values.map(toBound)
  return values => {
    const bound = values.map(toBound)
    return [Object.fromEntries(bound.slice(0, count).map((value, index) => [index + 1, value])), ...bound.slice(count)]
  }
}
