import type { TickRange } from './ledger-store.ts'
import type { Transaction } from './transaction.ts'

/** Which ticks were indexed once and were removed since: what is not found there was not forgotten. */
export type RemovedTicks = {
  /** Adds a range, in the transaction that removes the first of it. */
  record(range: TickRange, tx: Transaction): Promise<void>
  /** The range that a tick was removed with; null: it wasn't. */
  rangeOf(tick: number): Promise<TickRange | null>
}

export type RemovedTicksStatements = {
  /** Makes what is not there. Several may do so at the same time. */
  readonly tables: readonly string[]
  /** PostgreSQL: notes how many ticks there were, by which the room in the table's files is known afterwards. */
  readonly peak?: string
  readonly absorb: string
  readonly record: string
  readonly find: string
}

type Connection = {
  hasTable(name: string): Promise<boolean>
  read<T>(sql: string, ...values: number[]): Promise<T[]>
}

const TABLE = 'removed_tick'
const COUNTED = 'environment_tick_block'

/** Whatever the engine. */
export class StoredRemovedTicks implements RemovedTicks {
  readonly #connection: Connection
  readonly #sql: RemovedTicksStatements

  constructor(connection: Connection, sql: RemovedTicksStatements) {
    this.#connection = connection
    this.#sql = sql
  }

  async record({ tickStart, tickEnd }: TickRange, tx: Transaction): Promise<void> {
    const { tables, peak } = this.#sql
    if (!(await this.#connection.hasTable(TABLE))) for (const table of tables) await tx.run(table)
    if (peak !== undefined && (await this.#connection.hasTable(COUNTED))) await tx.run(peak)
    await tx.run(this.#sql.absorb, tickStart, tickEnd)
    await tx.run(this.#sql.record, tickStart, tickEnd)
  }

  async rangeOf(tick: number): Promise<TickRange | null> {
    if (!(await this.#connection.hasTable(TABLE))) return null
    const [row] = await this.#connection.read<TickRange>(this.#sql.find, tick)
    return row === undefined ? null : { ...row }
  }
}
