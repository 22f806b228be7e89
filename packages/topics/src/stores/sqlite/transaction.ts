import type { SqliteStatement } from './driver.ts'

export type Prepare = (sql: string) => SqliteStatement

/**
 * What the functions below the concept objects are given: statements and the file's clock inside a transaction, or one
 * reader's snapshot, that is open already. They can't open another.
 */
export type Transaction = {
  readonly path: string
  prepare(sql: string): SqliteStatement
  exec(sql: string): void
  /** The file's clock, in milliseconds: the same for all processes, whatever one of them believes. */
  now(): number
  /** The time before which something stored is more than `ms` ago. */
  ago(ms: number): number
  /** When something stored happened, by the clock as it is now. */
  asOfNow(stored: number): number
}
