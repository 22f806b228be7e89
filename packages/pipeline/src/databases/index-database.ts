import type { StoredSize } from 'tidemark'
import type { IdempotencyTracker } from '../trackers/idempotency-tracker.ts'
import type { RetryTracker } from '../trackers/retry-tracker.ts'
import type { IndexMetrics } from './index-meter.ts'
import type { LedgerStore } from './ledger-store.ts'
import type { MetadataStore } from './metadata.ts'
import type { OrganismRows } from './organism-rows.ts'
import type { RemovedTicks } from './removed-ticks.ts'
import type { SeriesRows } from './series-rows.ts'
import type { TickBlobs } from './tick-blobs.ts'
import type { SqlValue, Transaction } from './transaction.ts'
import type { WrittenAsRows } from './written-as.ts'

/** Index of one run: a SQLite file or a PostgreSQL schema. Several processes may share it. */
export type IndexDatabase = AsyncDisposable & {
  /** Metadata of the run. */
  readonly metadata: MetadataStore
  /**
   * Ledgers of the indexers.
   *
   * @internal
   */
  readonly ledger: LedgerStore
  /** Batches that were processed. */
  readonly idempotency: IdempotencyTracker
  /** Failed attempts of batches. */
  readonly retries: RetryTracker
  /**
   * Cells of each tick. Each indexer creates its own tables.
   *
   * @internal
   */
  readonly environmentTicks: TickBlobs
  /**
   * Strategies that wrote the cells.
   *
   * @internal
   */
  readonly environmentWritten: WrittenAsRows
  /**
   * Organisms of each tick.
   *
   * @internal
   */
  readonly organismTicks: TickBlobs
  /**
   * Ticks that were removed (`keep`).
   *
   * @internal
   */
  readonly removedTicks: RemovedTicks
  /**
   * Facts of organisms.
   *
   * @internal
   */
  readonly organisms: OrganismRows
  /**
   * Time series.
   *
   * @internal
   */
  readonly series: SeriesRows
  /** Kind of the database. */
  readonly engine: 'sqlite' | 'postgres'
  /** Id of the run. */
  readonly runId: string
  /** Location for people, without user and password. */
  readonly location: string
  /**
   * Runs `work` in a transaction, which is committed when it resolves and rolled back when it rejects. If the server
   * rolled it back because of a conflict, `work` runs again.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Runs one statement that only reads. It waits for no writer. */
  read<T>(sql: string, ...values: SqlValue[]): Promise<T[]>
  /** Statements of this process, from memory. */
  metrics(): IndexMetrics
  /** Bytes on disk. No rows are read. */
  size(): Promise<number>
  /** Makes the space of removed rows available again. */
  reclaim(): Promise<void>
  /** Waits for running statements and closes the database. Can be called again. */
  close(): Promise<void>
}

/** Content of an index. */
export type IndexParts = Pick<
  IndexDatabase,
  | 'metadata'
  | 'ledger'
  | 'idempotency'
  | 'retries'
  | 'environmentTicks'
  | 'environmentWritten'
  | 'organismTicks'
  | 'removedTicks'
  | 'organisms'
  | 'series'
>

/** Checks whether the indexes of an address are reachable. */
export type IndexProbe = {
  /** Rejects if they are not reachable. One cheap query. */
  look(): Promise<void>
  /** Number of checks and their latency. */
  metrics(): IndexMetrics
  close(): Promise<void>
}

/** Measures the size of all indexes of an address, repeatedly. */
export type MeasuredIndexes = {
  size(): Promise<StoredSize>
  close(): Promise<void>
}

/** One engine, as `open-index.ts` uses it. */
export type IndexEngine = {
  open(address: string, runId: string, options: IndexSettings): Promise<IndexDatabase>
  /** Lists runs, the oldest first. */
  list(address: string): Promise<string[]>
  /** Version of the schema, which is not changed, and the newest version that this code knows. */
  versions(address: string, runId: string): Promise<{ readonly found: number; readonly newest: number }>
  probe(address: string): IndexProbe
  /** Disk usage of all indexes of the address. No rows are read. */
  measure(address: string): MeasuredIndexes
  /** Whether somebody has it open; false if the engine can't know. */
  isInUse(address: string, runId: string): Promise<boolean>
  /** Returns false if there was none. */
  drop(address: string, runId: string, options: IndexSettings): Promise<boolean>
}

/** Checked options with their defaults. */
export type IndexSettings = {
  readonly create: boolean
  /**
   * Opens an index without taking a lock that a writer could wait for, and without changing it. Rejects with
   * `IndexNotFoundError` if there is none.
   */
  readonly readOnly: boolean
  readonly busyTimeoutMs: number
  readonly durability: 'full' | 'process'
  readonly poolSize: number
}
