/** Parameter or result of a statement. Integers are numbers: no tick, count or time needs more than 53 bits. */
export type SqlValue = string | number | bigint | boolean | null | Uint8Array

/** A transaction. Statements have `$1` for values and `run.` before the names of tables, on both engines. */
export type Transaction = {
  /** Runs a statement and returns its rows. */
  rows<T>(sql: string, ...values: SqlValue[]): Promise<T[]>
  /** Runs a statement and returns the number of changed rows. */
  run(sql: string, ...values: SqlValue[]): Promise<number>
}
