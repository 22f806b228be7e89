import type { SqliteStatement } from './driver.ts'

export type Prepare = (sql: string) => SqliteStatement

/**
 * What the concept objects pass to the functions below them: statements and the file's clock inside an open transaction
 * or one reader's snapshot. The functions can't open another one.
 */
export type Transaction = {
  readonly path: string
  prepare(sql: string): SqliteStatement
  exec(sql: string): void
  /** The file's clock, in milliseconds. It is the same for all processes, whatever their wall clocks say. */
  now(): number
  /** The time before which something stored is more than `ms` ago. */
  ago(ms: number): number
  /** A stored time converted to the current clock. */
  asOfNow(stored: number): number
}
