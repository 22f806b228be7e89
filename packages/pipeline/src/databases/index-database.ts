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

/** What an index holds. */
export type IndexParts = {
  readonly metadata: MetadataStore
  readonly ledger: LedgerStore
  readonly idempotency: IdempotencyTracker
  readonly retries: RetryTracker
  /** The tables of the indexes, each made by its indexer. */
  readonly environmentTicks: TickBlobs
  /** How the ticks of the environment were written. */
  readonly environmentWritten: WrittenAsRows
  readonly organismTicks: TickBlobs
  readonly removedTicks: RemovedTicks
  readonly organisms: OrganismRows
  readonly series: SeriesRows
}

/** The index of one run: a SQLite file or a PostgreSQL schema of its own. Several processes may share it. */
export type IndexDatabase = AsyncDisposable &
  IndexParts & {
    readonly engine: 'sqlite' | 'postgres'
    readonly runId: string
    /** Where it is, for people; never a user or a password. */
    readonly location: string
    /**
     * Commits what `work` has done when it resolves, and undoes it when it rejects. Where the server gave up a transaction
     * for another one's sake, `work` runs again from its start.
     */
    transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
    /** One statement that only reads; it waits for no writer. */
    read<T>(sql: string, ...values: SqlValue[]): Promise<T[]>
    /** What this process has asked of it. Read in constant time. */
    metrics(): IndexMetrics
    /** After rows were removed: their room is there for others, and whoever measures the index sees it. */
    reclaim(): Promise<void>
    /** Waits for what runs. Closing twice is fine. */
    close(): Promise<void>
  }

/** Looks whether the indexes of an address can be reached, and no more. */
export type IndexProbe = {
  /** Rejects where they can't. One cheap question. */
  look(): Promise<void>
  /** How often that was asked, and how long the answer took. */
  metrics(): IndexMetrics
  close(): Promise<void>
}

/** What is asked again and again what all indexes of an address take. */
export type MeasuredIndexes = {
  /** Where they are, on this machine. */
  readonly folder?: string
  size(): Promise<StoredSize>
  close(): Promise<void>
}

/** One engine: what `open-index.ts` needs of it. */
export type IndexEngine = {
  open(address: string, runId: string, options: IndexSettings): Promise<IndexDatabase>
  /** Oldest first. */
  list(address: string): Promise<string[]>
  /** The schema's version as it is, without changing it, and the newest that this code knows. */
  versions(address: string, runId: string): Promise<{ readonly found: number; readonly newest: number }>
  probe(address: string): IndexProbe
  /** What all indexes of the address take on the disk, without looking at their rows. */
  measure(address: string): MeasuredIndexes
  /** Whether somebody has it open. Where the engine can't know, false. */
  isInUse(address: string, runId: string): Promise<boolean>
  /** False where there was none. */
  drop(address: string, runId: string, options: IndexSettings): Promise<boolean>
}

/** The options, checked and with their defaults. */
export type IndexSettings = {
  readonly create: boolean
  /** Takes no lock that a writer could wait for, and changes nothing; where there is no index, `IndexNotFoundError`. */
  readonly readOnly: boolean
  readonly busyTimeoutMs: number
  readonly durability: 'full' | 'process'
  readonly poolSize: number
}
