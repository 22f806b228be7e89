import { TransactionError } from '../../errors.ts'
import type { SqliteDatabase } from './driver.ts'
import { betterSqlite3Database } from './drivers/better-sqlite3.ts'
import { libsqlDatabase } from './drivers/libsql.ts'
import { rowsOf } from './rows.ts'

/** The connection that a caller passed as `tx`. */
export type CallersDatabase = Pick<SqliteDatabase, 'isOpen' | 'isTransaction' | 'prepare'> & {
  /** Path of its file; '' if it is in memory. */
  readonly path: string
  /** Name of the library, as in `SqliteDriver`. */
  readonly library: string
}

const ACCEPTED =
  'On SQLite pass the connection that your transaction is open on: a DatabaseSync of node:sqlite, the database of ' +
  'better-sqlite3 or libsql, or the tx of Drizzle on one of them'

const known = new WeakMap<object, CallersDatabase>()

/** Recognised by its shape, because Tidemark depends on none of these libraries. */
export function callersDatabase(tx: unknown): CallersDatabase {
  const raw = isObject(tx) && isObject(tx.session) && isObject(tx.session.client) ? tx.session.client : tx
  const found = isObject(raw) ? known.get(raw) : undefined
  if (found) return found
  const { library, db } = recognise(raw)
  const made = withPath(library, db)
  known.set(raw as object, made)
  return made
}

function recognise(raw: unknown): { readonly library: string; readonly db: SqliteDatabase } {
  if (isObject(raw) && typeof raw.executeQuery === 'function') {
    throw new TransactionError(
      'The tx given to publish is of Kysely, which does not give access to its SQLite connection. Nothing was stored. ' +
        'Pass the database that you gave to its dialect, inside the transaction',
    )
  }
  if (isObject(raw) && typeof raw.prepare === 'function') {
    // The getter throws if the database is closed.
    if ('isTransaction' in raw && typeof raw.location === 'function') {
      return { library: 'node:sqlite', db: withPlainStatements(raw) as SqliteDatabase }
    }
    if (typeof raw.inTransaction === 'boolean') {
      return typeof raw.syncUntil === 'function'
        ? { library: 'libsql', db: libsqlDatabase(withPlainStatements(raw)) }
        : { library: 'better-sqlite3', db: betterSqlite3Database(withPlainStatements(raw)) }
    }
  }
  throw new TransactionError(`The tx given to publish is not a transaction this store can use. ${ACCEPTED}`)
}

/** A caller's open connection with its path, which never changes. Statements are prepared once. */
function withPath(library: string, db: SqliteDatabase): CallersDatabase {
  const statements = new Map<string, ReturnType<SqliteDatabase['prepare']>>()
  const prepare: SqliteDatabase['prepare'] = sql => {
    const statement = statements.get(sql) ?? db.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  let path: string | undefined
  return {
    library,
    prepare,
    get isOpen() {
      return db.isOpen
    },
    get isTransaction() {
      return db.isOpen && db.isTransaction
    },
    get path() {
      path ??= rowsOf<{ name: string; file: string }>(prepare('pragma database_list')).find(
        ({ name }) => name === 'main',
      )?.file
      return path ?? ''
    },
  }
}

/** The caller's connection may be set to return numbers as bigints, or rows as arrays. */
function withPlainStatements(raw: object): object {
  const db = raw as RawDatabase
  return {
    get isOpen() {
      return db.isOpen
    },
    get isTransaction() {
      return db.isTransaction
    },
    get open() {
      return db.open
    },
    get inTransaction() {
      return db.inTransaction
    },
    prepare: (sql: string) => {
      const statement = db.prepare(sql)
      statement.setReadBigInts?.(false)
      statement.setReturnArrays?.(false)
      statement.safeIntegers?.(false)
      return statement
    },
  }
}

type RawDatabase = {
  readonly isOpen?: boolean
  readonly isTransaction?: boolean
  readonly open?: boolean
  readonly inTransaction?: boolean
  prepare(sql: string): PlainStatement
}

type PlainStatement = {
  setReadBigInts?(enabled: boolean): void
  setReturnArrays?(enabled: boolean): void
  safeIntegers?(enabled: boolean): unknown
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
