/** What a statement takes and gives. Integers are numbers; no tick, count or time of ours needs more than 53 bits. */
export type SqlValue = string | number | bigint | boolean | null | Uint8Array

/** Statements with `$1` for values and `run.` before the names of the run's tables, on either engine. */
export type Transaction = {
  /** Rows as the type its `select` or `returning` list has. */
  rows<T>(sql: string, ...values: SqlValue[]): Promise<T[]>
  /** The number of rows that it changed. */
  run(sql: string, ...values: SqlValue[]): Promise<number>
}
