import { IndexDatabaseError } from '../errors.ts'
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
} from '../ledger-store.ts'
import type { SqlValue, Transaction } from '../transaction.ts'
import type { Connection } from './connection.ts'
import { BATCH_COLUMNS, GAP_COLUMNS, PostgresLedgerRows } from './ledger-rows.ts'

const CREATE = `
  insert into run.batch_ledger (indexer, sampling_interval, first_tick)
  values ($1, $2, $3)
  on conflict do nothing`

const START = `
  select sampling_interval as "samplingInterval", first_tick as "firstTick"
  from run.batch_ledger
  where indexer = $1`

const LIST = `
  select indexer, sampling_interval as "samplingInterval", first_tick as "firstTick"
  from run.batch_ledger
  order by indexer collate "C"`

/** Whoever changes the ledger holds its row. */
const LOCK = `
  select (extract(epoch from clock_timestamp()) * 1000)::bigint as now
  from run.batch_ledger
  where indexer = $1
  for update`

const COUNTS = `
  select claimed, completed, failed, gap_pending, ready, recorded
  from run.batch_ledger
  where indexer = $1`

const BATCH = `
  select ${BATCH_COLUMNS}
  from run.batch_processing
  where indexer = $1 and batch_key = $2`

const FAILED = `
  select ${BATCH_COLUMNS}
  from run.batch_processing
  where indexer = $1 and status = 'failed' and batch_key collate "C" > $2
  order by batch_key collate "C"
  limit $3`

const PROCESSED = `
  select tick_start as "tickStart", tick_end as "tickEnd"
  from run.batch_processed
  where indexer = $1 and tick_start > $2
  order by tick_start
  limit $3`

const GAPS = `
  select ${GAP_COLUMNS}
  from run.batch_arrived as a
  where indexer = $1 and tick_start > $2 and gap_since is not null
  order by tick_start
  limit $3`

const ARRIVED_BEFORE = `
  select ${GAP_COLUMNS}
  from run.batch_arrived as a
  where indexer = $1 and tick_start < $2
  order by tick_start desc
  limit 1`

export class PostgresLedgerStore implements LedgerStore {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  async open(indexer: string, { samplingInterval, firstTick }: LedgerStart): Promise<LedgerStart> {
    await this.#connection.transaction(tx => tx.run(CREATE, indexer, samplingInterval, firstTick))
    return await this.#required<LedgerStart>(START, indexer)
  }

  async change<T>(indexer: string, work: (rows: LedgerRows) => Promise<T>, tx?: Transaction): Promise<T> {
    if (tx === undefined) return await this.#connection.transaction(own => this.change(indexer, work, own))
    const [row] = await tx.rows<{ now: number }>(LOCK, indexer)
    if (row === undefined) throw missing(indexer)
    const rows = new PostgresLedgerRows(tx, indexer, row.now)
    const result = await work(rows)
    await rows.writeCounts()
    return result
  }

  async list(): Promise<(LedgerStart & { readonly indexer: string })[]> {
    return await this.#connection.read(LIST)
  }

  async batch(indexer: string, key: string): Promise<BatchRow | null> {
    const [row] = await this.#connection.read<BatchRow>(BATCH, indexer, key)
    return row ?? null
  }

  async counts(indexer: string): Promise<LedgerCounts> {
    return await this.#required<LedgerCounts>(COUNTS, indexer)
  }

  async failed(indexer: string, { after, limit }: KeyPage): Promise<BatchRow[]> {
    return await this.#connection.read<BatchRow>(FAILED, indexer, after, limit)
  }

  async processed(indexer: string, { after, limit }: Page): Promise<TickRange[]> {
    return await this.#connection.read<TickRange>(PROCESSED, indexer, after, limit)
  }

  async gaps(indexer: string, { after, limit }: Page): Promise<GapRow[]> {
    return await this.#connection.read<GapRow>(GAPS, indexer, after, limit)
  }

  async arrivedBefore(indexer: string, tick: number): Promise<GapRow | null> {
    const [row] = await this.#connection.read<GapRow>(ARRIVED_BEFORE, indexer, tick)
    return row ?? null
  }

  async #required<T>(sql: string, indexer: string, ...values: SqlValue[]): Promise<T> {
    const [row] = await this.#connection.read<T>(sql, indexer, ...values)
    if (row === undefined) throw missing(indexer)
    return row
  }
}

const missing = (indexer: string): IndexDatabaseError =>
  new IndexDatabaseError(`The ledger of indexer '${indexer}' is gone. Was this index dropped meanwhile? Open it again`)
