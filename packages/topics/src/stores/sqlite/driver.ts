/** A parameter of a SQLite statement. */
export type SqlValue = string | number | bigint | null | Uint8Array

/**
 * A library for SQLite, and the file to open with it, for `open({ driver })`. Tidemark opens connections of its own, so
 * the library's calls have to be synchronous.
 *
 * @example
 * const tm = await open({ driver: betterSqlite3(Database, './data/app.db') })
 */
export type SqliteDriver = {
  /** Which engine's statements it runs. */
  readonly engine: 'sqlite'
  /** Name of the library, for errors: `'better-sqlite3'`. */
  readonly name: string
  /** File of the default namespace, or `':memory:'`. */
  readonly file: string
  /**
   * What to do where its SQLite is older than 3.51.3, which can corrupt a write-ahead log. Default: refuse to open.
   * `'rollback-journal'`: do without that log.
   */
  readonly olderSqlite?: 'refuse' | 'rollback-journal'
  /** Opens a connection. It must never wait for a lock: Tidemark waits without blocking the event loop. */
  open(path: string, options?: SqliteOpenOptions): SqliteDatabase
}

/** How a `SqliteDriver` opens a connection. */
export type SqliteOpenOptions = {
  /** Nothing is written, and a missing file is not created. */
  readonly readOnly?: boolean
}

/** A connection of a `SqliteDriver`. */
export type SqliteDatabase = {
  /** Whether the connection is open. */
  readonly isOpen: boolean
  /** Whether a transaction is open. */
  readonly isTransaction: boolean
  /** Runs one or more statements without parameters. */
  exec(sql: string): void
  /** Prepares a statement. */
  prepare(sql: string): SqliteStatement
  /** Closes it. */
  close(): void
}

/**
 * A prepared statement of a `SqliteDriver`. Whole numbers are bound as integers, and bytes are returned as `Uint8Array`.
 * An error has SQLite's result code as `errcode` or `rawCode`, or its name as `code`: `'SQLITE_BUSY'`.
 */
export type SqliteStatement = {
  /** Its text, for errors. */
  readonly sourceSQL?: string
  /** Runs it. */
  run(...values: SqlValue[]): { readonly changes: number | bigint }
  /** The first row, or undefined. */
  get(...values: SqlValue[]): unknown
  /** All rows. */
  all(...values: SqlValue[]): unknown[]
  /** The rows, one by one. */
  iterate(...values: SqlValue[]): Iterable<unknown>
  /** Makes the statement return rows as arrays of values instead of objects. */
  setReturnArrays(enabled: boolean): void
}
