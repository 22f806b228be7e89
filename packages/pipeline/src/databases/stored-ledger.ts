import { IndexDatabaseError } from './errors.ts'
import type { IndexDatabase } from './index-database.ts'
import type {
  BatchRow,
  GapRow,
  KeyPage,
  LedgerCounts,
  LedgerRows,
  LedgerStart,
  LedgerStore,
  Page,
  TickRange,
} from './ledger-store.ts'
import { gapOf, type LedgerRowStatements, type StoredGap, StoredLedgerRows } from './stored-ledger-rows.ts'
import type { SqlValue, Transaction } from './transaction.ts'

/** In the engine's dialect; the indexer is always the first value. */
export type LedgerStatements = {
  readonly rows: LedgerRowStatements
  readonly create: string
  readonly start: string
  readonly list: string
  readonly lock: string
  readonly counts: string
  readonly batch: string
  readonly failed: string
  readonly processed: string
  readonly gaps: string
  readonly arrivedBefore: string
}

type Connection = Pick<IndexDatabase, 'read' | 'transaction'>

/** The ledgers of a run, whatever the engine. */
export class StoredLedger implements LedgerStore {
  readonly #connection: Connection
  readonly #sql: LedgerStatements

  constructor(connection: Connection, sql: LedgerStatements) {
    this.#connection = connection
    this.#sql = sql
  }

  async open(indexer: string, { samplingInterval, firstTick }: LedgerStart): Promise<LedgerStart> {
    await this.#connection.transaction(tx => tx.run(this.#sql.create, indexer, samplingInterval, firstTick))
    return await this.#required<LedgerStart>(this.#sql.start, indexer)
  }

  async change<T>(indexer: string, work: (rows: LedgerRows) => Promise<T>, tx?: Transaction): Promise<T> {
    if (tx === undefined) return await this.#connection.transaction(own => this.change(indexer, work, own))
    const [row] = await tx.rows<{ now: number }>(this.#sql.lock, indexer)
    if (row === undefined) throw missing(indexer)
    const rows = new StoredLedgerRows(this.#sql.rows, tx, indexer, row.now)
    const result = await work(rows)
    await rows.writeCounts()
    return result
  }

  async list(): Promise<(LedgerStart & { readonly indexer: string })[]> {
    return await this.#read(this.#sql.list)
  }

  async batch(indexer: string, key: string): Promise<BatchRow | null> {
    const [row] = await this.#read<BatchRow>(this.#sql.batch, indexer, key)
    return row ?? null
  }

  async counts(indexer: string): Promise<LedgerCounts> {
    return await this.#required<LedgerCounts>(this.#sql.counts, indexer)
  }

  async failed(indexer: string, { after, limit }: KeyPage): Promise<BatchRow[]> {
    return await this.#read<BatchRow>(this.#sql.failed, indexer, after, limit)
  }

  async processed(indexer: string, { after, limit }: Page): Promise<TickRange[]> {
    return await this.#read<TickRange>(this.#sql.processed, indexer, after, limit)
  }

  async gaps(indexer: string, { after, limit }: Page): Promise<GapRow[]> {
    return (await this.#connection.read<StoredGap>(this.#sql.gaps, indexer, after, limit)).map(gapOf)
  }

  async arrivedBefore(indexer: string, tick: number): Promise<GapRow | null> {
    const [row] = await this.#connection.read<StoredGap>(this.#sql.arrivedBefore, indexer, tick)
    return row === undefined ? null : gapOf(row)
  }

  async #required<T>(sql: string, indexer: string, ...values: SqlValue[]): Promise<T> {
    const [row] = await this.#read<T>(sql, indexer, ...values)
    if (row === undefined) throw missing(indexer)
    return row
  }

  /** SQLite's rows have no prototype; what callers get should not depend on the engine. */
  async #read<T>(sql: string, ...values: SqlValue[]): Promise<T[]> {
    return (await this.#connection.read<T>(sql, ...values)).map(row => ({ ...row }))
  }
}

const missing = (indexer: string): IndexDatabaseError =>
  new IndexDatabaseError(`The ledger of indexer '${indexer}' is gone. Was this index dropped meanwhile? Open it again`)
