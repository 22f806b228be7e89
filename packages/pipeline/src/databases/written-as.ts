import type { TickRange } from './ledger-store.ts'
import type { Transaction } from './transaction.ts'

/** How the environment's ticks from the first to the last were written. Ranges overlap where it went back and forth. */
export type WrittenAs = TickRange & {
  readonly strategy: string
  /** As JSON: what reading depends on. */
  readonly settings: string
}

export type WrittenAsRows = {
  /** Makes the table where it is not there. */
  prepare(tx: Transaction): Promise<void>
  /** Widens the range of that strategy and these settings; as late in a transaction as can be, since others then wait. */
  record(writtenAs: WrittenAs, tx: Transaction): Promise<void>
  /** By strategy and settings; empty where nothing was recorded. */
  list(): Promise<WrittenAs[]>
}

export type WrittenAsStatements = { readonly table: string; readonly record: string; readonly list: string }

type Connection = {
  hasTable(name: string): Promise<boolean>
  read<T>(sql: string): Promise<T[]>
}

export const WRITTEN_AS_TABLE = 'environment_written'

/** Whatever the engine. */
export class StoredWrittenAs implements WrittenAsRows {
  readonly #connection: Connection
  readonly #sql: WrittenAsStatements

  constructor(connection: Connection, sql: WrittenAsStatements) {
    this.#connection = connection
    this.#sql = sql
  }

  async prepare(tx: Transaction): Promise<void> {
    await tx.run(this.#sql.table)
  }

  async record({ strategy, settings, tickStart, tickEnd }: WrittenAs, tx: Transaction): Promise<void> {
    await tx.run(this.#sql.record, strategy, settings, tickStart, tickEnd)
  }

  async list(): Promise<WrittenAs[]> {
    if (!(await this.#connection.hasTable(WRITTEN_AS_TABLE))) return []
    return await this.#connection.read<WrittenAs>(this.#sql.list)
  }
}
