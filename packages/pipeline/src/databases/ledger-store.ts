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

/** Ticks without a hole between them that have arrived, whatever became of them, and what is known of the gap before. */
export type ArrivedRange = TickRange & {
  /** What of it isn't processed waits for the gap. */
  readonly isHeld: boolean
  /** null: there is no gap before it. */
  readonly gapSince: number | null
  readonly gapReportedAt: number | null
  /** Given up: nothing waits for it any more. */
  readonly isGapSkipped: boolean
}

/** `previousEnd`: where the range before ends; null where there is none. */
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
  /** null: whatever arrives first. */
  readonly firstTick: number | null
}

/** What starts after this tick, at most so many. */
export type LedgerPage = { readonly after: number; readonly limit: number }
export type KeyPage = { readonly after: string; readonly limit: number }

/** The tables of the ledgers of a run, one ledger for each indexer; `ledger/batch-ledger.ts` decides, this keeps. */
export type LedgerStore = {
  /** Makes the ledger where there is none; gives what it was made with. */
  open(indexer: string, start: LedgerStart): Promise<LedgerStart>
  /** One transaction, in which nobody else changes this ledger. With `tx`, it is part of that one. */
  change<T>(indexer: string, work: (rows: LedgerRows) => Promise<T>, tx?: Transaction): Promise<T>
  /** Every indexer that has a ledger here, by name. */
  list(): Promise<(LedgerStart & { readonly indexer: string })[]>
  batch(indexer: string, key: string): Promise<BatchRow | null>
  counts(indexer: string): Promise<LedgerCounts>
  /** By key, those after this one. */
  failed(indexer: string, page: KeyPage): Promise<BatchRow[]>
  processed(indexer: string, page: LedgerPage): Promise<TickRange[]>
  /** The arrived ranges that have a gap before them. */
  gaps(indexer: string, page: LedgerPage): Promise<GapRow[]>
  /** The last range that starts before this tick. */
  arrivedBefore(indexer: string, tick: number): Promise<GapRow | null>
}

/** A ledger inside of one change. */
export type LedgerRows = {
  /** Unix time in milliseconds, by the database's clock. */
  readonly now: number
  batch(key: string): Promise<BatchRow | null>
  /** `before`: the row as it was, null where there was none. */
  saveBatch(row: BatchRow, before: BatchRow | null): Promise<void>
  /** The lowest one claimed at or before this time. */
  stuckBatch(claimedAt: number): Promise<BatchRow | null>
  /** The lowest ready one. */
  readyBatch(): Promise<BatchRow | null>
  /** gap_pending becomes ready where the batch starts in the range; gives how many. */
  releaseWaiting(range: TickRange): Promise<number>
  countRecorded(): Promise<void>
  /** Forgets completed batches of the range. */
  removeCompleted(range: TickRange): Promise<void>
  /** Forgets a batch, whatever its state. */
  removeBatch(row: BatchRow): Promise<void>

  /** Those with a tick in the range, lowest first. */
  arrivedIn(range: TickRange): Promise<ArrivedRange[]>
  /** The first that starts after this tick, and the last that starts before it. */
  arrivedAfter(tick: number): Promise<ArrivedRange | null>
  arrivedBefore(tick: number): Promise<ArrivedRange | null>
  /** Puts one in the place of those that it consists of. */
  replaceArrived(parts: readonly TickRange[], whole: ArrivedRange): Promise<void>
  processedIn(range: TickRange): Promise<TickRange[]>
  replaceProcessed(parts: readonly TickRange[], whole: TickRange): Promise<void>
  /** Gaps known since this time or before that are not reported yet; or that something waits for, `withHeld`. */
  overdueGaps(since: number, withHeld: boolean): Promise<GapRow[]>
}
