import type { SqliteDatabase, SqliteStatement, SqlValue } from '../driver.ts'

/** These libraries bind every number as a float, which changes division and text conversion in SQLite. */
export function toBound(value: SqlValue): SqlValue {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
  if (value instanceof Uint8Array && !Buffer.isBuffer(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  }
  return value
}

/** A row as `node:sqlite` returns it: bytes are a plain Uint8Array. */
export function fromRow(row: unknown): unknown {
  if (typeof row !== 'object' || row === null) return row
  const values = row as Record<string, unknown>
  for (const key in values) {
    const value = values[key]
    if (typeof value === 'object' && value !== null) values[key] = fromBytes(value)
  }
  return row
}

function fromBytes(value: object): unknown {
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  return Buffer.isBuffer(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : value
}

/** A database of a library with the interface of better-sqlite3. */
export type SynchronousDatabase<Statement> = {
  readonly open: boolean
  readonly inTransaction: boolean
  exec(sql: string): unknown
  prepare(sql: string): Statement
  close(): unknown
}

export const toDatabase = <Statement>(
  db: SynchronousDatabase<Statement>,
  toStatement: (statement: Statement, sql: string) => SqliteStatement,
): SqliteDatabase => ({
  get isOpen() {
    return db.open
  },
  get isTransaction() {
    return db.inTransaction
  },
  exec: sql => void db.exec(sql),
  prepare: sql => toStatement(db.prepare(sql), sql),
  close: () => void db.close(),
})
