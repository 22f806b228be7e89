import type { Dialect } from './sql/dialect.ts'
import type { SqlValue, Transaction } from './transaction.ts'

/** An engine's connection to the index of one run, as the statements that both engines share need it. */
export type IndexConnection = {
  readonly dialect: Dialect
  read<T>(sql: string, ...values: SqlValue[]): Promise<T[]>
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Whether the table is there by now; in a transaction also one that this transaction has made. */
  hasTable(name: string, tx?: Transaction): Promise<boolean>
  /** From here to the end of the transaction nobody else of this run holds the lock of this name. */
  lock(name: string, tx: Transaction): Promise<void>
}
