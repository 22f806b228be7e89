import type { StatementSync } from 'node:sqlite'
import { DatabaseError } from '../../errors.ts'

export type SqlValue = string | number | bigint | null | Uint8Array

/** The rows of a statement, as the type its `select` list has. */
export const rowsOf = <T>(statement: StatementSync, ...values: SqlValue[]): T[] => statement.all(...values) as T[]
export const rowOf = <T>(statement: StatementSync, ...values: SqlValue[]): T | undefined =>
  statement.get(...values) as T | undefined

/** A row that must be there. */
export function requiredRow<T>(statement: StatementSync, ...values: SqlValue[]): T {
  const row = statement.get(...values)
  if (row === undefined) throw new DatabaseError(`A row that must exist is missing (${statement.sourceSQL})`)
  return row as T
}
