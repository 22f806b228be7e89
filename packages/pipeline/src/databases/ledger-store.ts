import type { Transaction } from './transaction.ts'

/** Range of ticks, both ends included; consecutive ticks are `samplingInterval` apart. */
export type TickRange = {
  /** First tick. */
  readonly tickStart: number
  /** Last tick. */
  readonly tickEnd: number
}

const BATCH_STATUSES = ['claimed', 'completed', 'failed', 'gap_pending', 'ready'] as const
/** Status of a batch in a ledger. */
export type BatchStatus = (typeof BATCH_STATUSES)[number]

/** A batch in a ledger. */
export type BatchRow = TickRange & {
  /** Storage key of the batch. */
  readonly key: string
  /** Status of the batch. */
  readonly status: BatchStatus
  /** Number of claims, which is the fencing token; 0: never claimed. */
  readonly version: number
  /** Name of the instance that claimed it, or null. */
  readonly claimer: string | null
  /** Time of the claim in milliseconds since 1970, by the database's clock, or null. */
  readonly claimedAt: number | null
  /** Time at which it was completed or failed, or null. */
  readonly settledAt: number | null
  /** Error with which it failed, or null. */
  readonly error: string | null
}

/** A range of arrived ticks without gaps, processed or not, and the gap before it. */
export type ArrivedRange = TickRange & {
  /** Whether its unprocessed batches wait for the gap. */
  readonly isHeld: boolean
  /** Time at which the gap before it was noticed; null: there is no gap. */
  readonly gapSince: number | null
  readonly gapReportedAt: number | null
  /** Whether the gap was given up, so that nothing waits for it. */
  readonly isGapSkipped: boolean
}

/** `previousEnd`: end of the range before it, or null if there is none. */
export type GapRow = ArrivedRange & { readonly previousEnd: number | null }

/** Number of batches by status. */
export type LedgerCounts = {
  readonly [status in BatchStatus]: number
} & {
  /** Number of ranges recorded as processed without a claim. */
  readonly recorded: number
}

export type LedgerStart = {
  readonly samplingInterval: number
  /** First tick of the run; null: the first to arrive. */
  readonly firstTick: number | null
}

/** Ranges that start after this tick, up to a limit. */
export type LedgerPage = {
  /** Tick after which ranges start. */
  readonly after: number
  /** Maximum number of ranges. */
  readonly limit: number
}
export type KeyPage = { readonly after: string; readonly limit: number }

/** Tables of the ledgers of a run, one ledger per indexer. `ledger/batch-ledger.ts` makes the decisions. */
export type LedgerStore = {
  /** Creates the ledger if it does not exist, and returns the settings it was created with. */
  open(indexer: string, start: LedgerStart): Promise<LedgerStart>
  /** Runs a transaction in which nobody else changes this ledger. With `tx`, as part of that transaction. */
  change<T>(indexer: string, work: (rows: LedgerRows) => Promise<T>, tx?: Transaction): Promise<T>
  /** Names of all indexers with a ledger, sorted. */
  list(): Promise<(LedgerStart & { readonly indexer: string })[]>
  batch(indexer: string, key: string): Promise<BatchRow | null>
  counts(indexer: string): Promise<LedgerCounts>
  /** Failed batches by key, after this one. */
  failed(indexer: string, page: KeyPage): Promise<BatchRow[]>
  processed(indexer: string, page: LedgerPage): Promise<TickRange[]>
  /** Arrived ranges with a gap before them. */
  gaps(indexer: string, page: LedgerPage): Promise<GapRow[]>
  /** The last range that starts before this tick. */
  arrivedBefore(indexer: string, tick: number): Promise<GapRow | null>
}

/** A ledger during one change. */
export type LedgerRows = {
  /** Current time in milliseconds since 1970, by the database's clock. */
  readonly now: number
  batch(key: string): Promise<BatchRow | null>
  /** `before`: the stored row, or null if there was none. */
  saveBatch(row: BatchRow, before: BatchRow | null): Promise<void>
  /** The lowest batch claimed at or before this time. */
  stuckBatch(claimedAt: number): Promise<BatchRow | null>
  /** The lowest ready batch. */
  readyBatch(): Promise<BatchRow | null>
  /** Makes gap_pending batches that start in the range ready, and returns their number. */
  releaseWaiting(range: TickRange): Promise<number>
  countRecorded(): Promise<void>
  /** Deletes completed batches of the range. */
  removeCompleted(range: TickRange): Promise<void>
  /** Deletes a batch in any state. */
  removeBatch(row: BatchRow): Promise<void>

  /** Ranges with a tick in the given range, the lowest first. */
  arrivedIn(range: TickRange): Promise<ArrivedRange[]>
  /** The first range that starts after this tick, and the last that starts before it. */
  arrivedAfter(tick: number): Promise<ArrivedRange | null>
  arrivedBefore(tick: number): Promise<ArrivedRange | null>
  /** Replaces ranges by the one that they form together. */
  replaceArrived(parts: readonly TickRange[], whole: ArrivedRange): Promise<void>
  processedIn(range: TickRange): Promise<TickRange[]>
  replaceProcessed(parts: readonly TickRange[], whole: TickRange): Promise<void>
  /** Gaps noticed at or before this time that are not reported yet or, `withHeld`, that something waits for. */
  overdueGaps(since: number, withHeld: boolean): Promise<GapRow[]>
}
