import { IndexDatabaseError } from '../errors.ts'
import type { IndexConnection } from '../index-connection.ts'
import type {
  BatchRow,
  GapRow,
  KeyPage,
  LedgerCounts,
  LedgerPage,
  LedgerRows,
  LedgerStart,
  LedgerStore,
  TickRange,
} from '../ledger-store.ts'
import type { SqlValue, Transaction } from '../transaction.ts'
import type { Dialect } from './dialect.ts'
import { BATCH_COLUMNS, GAP_COLUMNS, LEDGER_ROWS } from './ledger-row-statements.ts'
import { gapOf, type StoredGap, StoredLedgerRows } from './ledger-rows.ts'

/** The indexer is always the first value. */
const statements = ({ now, byBytes, forUpdate }: Dialect) => ({
  create: `
    insert into run.batch_ledger (indexer, sampling_interval, first_tick)
    values ($1, $2, $3)
    on conflict do nothing`,
  start: `
    select sampling_interval as "samplingInterval", first_tick as "firstTick"
    from run.batch_ledger
    where indexer = $1`,
  list: `
    select indexer, sampling_interval as "samplingInterval", first_tick as "firstTick"
    from run.batch_ledger
    order by indexer ${byBytes}`,
  /** Whoever changes the ledger locks its row. */
  lock: `
    select ${now} as now
    from run.batch_ledger
    where indexer = $1
    ${forUpdate}`,
  counts: `
    select claimed, completed, failed, gap_pending, ready, recorded
    from run.batch_ledger
    where indexer = $1`,
  failed: `
    select ${BATCH_COLUMNS}
    from run.batch_processing
    where indexer = $1 and status = 'failed' and batch_key ${byBytes} > $2
    order by batch_key ${byBytes}
    limit $3`,
  processed: `
    select tick_start as "tickStart", tick_end as "tickEnd"
    from run.batch_processed
    where indexer = $1 and tick_start > $2
    order by tick_start
    limit $3`,
  gaps: `
    select ${GAP_COLUMNS}
    from run.batch_arrived as a
    where indexer = $1 and tick_start > $2 and gap_since is not null
    order by tick_start
    limit $3`,
  arrivedBefore: `
    select ${GAP_COLUMNS}
    from run.batch_arrived as a
    where indexer = $1 and tick_start < $2
    order by tick_start desc
    limit 1`,
})

/** Ledgers of a run. */
export class StoredLedger implements LedgerStore {
  readonly #connection: IndexConnection
  readonly #sql: ReturnType<typeof statements>

  constructor(connection: IndexConnection) {
    this.#connection = connection
    this.#sql = statements(connection.dialect)
  }

  async open(indexer: string, { samplingInterval, firstTick }: LedgerStart): Promise<LedgerStart> {
    await this.#connection.transaction(tx => tx.run(this.#sql.create, indexer, samplingInterval, firstTick))
    return await this.#required<LedgerStart>(this.#sql.start, indexer)
  }

  async change<T>(indexer: string, work: (rows: LedgerRows) => Promise<T>, tx?: Transaction): Promise<T> {
    if (tx === undefined) return await this.#connection.transaction(own => this.change(indexer, work, own))
    const [row] = await tx.rows<{ now: number }>(this.#sql.lock, indexer)
    if (row === undefined) throw missing(indexer)
    const rows = new StoredLedgerRows(tx, indexer, row.now)
    const result = await work(rows)
    await rows.writeCounts()
    return result
  }

  async list(): Promise<(LedgerStart & { readonly indexer: string })[]> {
    return await this.#read(this.#sql.list)
  }

  async batch(indexer: string, key: string): Promise<BatchRow | null> {
    const [row] = await this.#read<BatchRow>(LEDGER_ROWS.batch, indexer, key)
    return row ?? null
  }

  async counts(indexer: string): Promise<LedgerCounts> {
    return await this.#required<LedgerCounts>(this.#sql.counts, indexer)
  }

  async failed(indexer: string, { after, limit }: KeyPage): Promise<BatchRow[]> {
    return await this.#read<BatchRow>(this.#sql.failed, indexer, after, limit)
  }

  async processed(indexer: string, { after, limit }: LedgerPage): Promise<TickRange[]> {
    return await this.#read<TickRange>(this.#sql.processed, indexer, after, limit)
  }

  async gaps(indexer: string, { after, limit }: LedgerPage): Promise<GapRow[]> {
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

  /** SQLite's rows have no prototype; callers should not see a difference between engines. */
  async #read<T>(sql: string, ...values: SqlValue[]): Promise<T[]> {
    return (await this.#connection.read<T>(sql, ...values)).map(row => ({ ...row }))
  }
}

const missing = (indexer: string): IndexDatabaseError =>
  new IndexDatabaseError(
    `The ledger of indexer '${indexer}' no longer exists. The index may have been dropped. Open it again`,
  )
