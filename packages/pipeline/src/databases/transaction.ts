/** What a statement takes and gives. Integers are numbers; no tick, count or time of ours needs more than 53 bits. */
export type SqlValue = string | number | bigint | boolean | null | Uint8Array

/** Statements in the dialect of their engine; in PostgreSQL's `run.` stands for the run's schema. */
export type Transaction = {
  /** Rows as the type its `select` or `returning` list has. */
  rows<T>(sql: string, ...values: SqlValue[]): Promise<T[]>
  /** The number of rows that it changed. */
  run(sql: string, ...values: SqlValue[]): Promise<number>
}
