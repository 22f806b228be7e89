import { DatabaseError } from '../../errors.ts'
import type { SqliteStatement, SqlValue } from './driver.ts'

/** The rows of a statement, typed like its `select` list. */
export const rowsOf = <T>(statement: SqliteStatement, ...values: SqlValue[]): T[] => statement.all(...values) as T[]
export const rowOf = <T>(statement: SqliteStatement, ...values: SqlValue[]): T | undefined =>
  statement.get(...values) as T | undefined

/** A row that must exist. */
export function requiredRow<T>(statement: SqliteStatement, ...values: SqlValue[]): T {
  const row = statement.get(...values)
  if (row === undefined)
    throw new DatabaseError(`A row that must exist is missing (${statement.sourceSQL ?? 'unknown statement'})`)
  return row as T
}
