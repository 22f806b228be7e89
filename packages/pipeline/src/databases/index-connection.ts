import type { Dialect } from './sql/dialect.ts'
import type { SqlValue, Transaction } from './transaction.ts'

/** Connection of an engine to the index of one run, for the statements that both engines share. */
export type IndexConnection = {
  readonly dialect: Dialect
  read<T>(sql: string, ...values: SqlValue[]): Promise<T[]>
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Whether the table exists; inside a transaction, also a table that this transaction has created. */
  hasTable(name: string, tx?: Transaction): Promise<boolean>
  /** Whether the table has the column. */
  hasColumn(table: string, column: string, tx?: Transaction): Promise<boolean>
  /** Holds the lock of this name, within the run, until the end of the transaction. */
  lock(name: string, tx: Transaction): Promise<void>
}
