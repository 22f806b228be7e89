/** The public names of `@tidemark/pipeline`, listed by hand. */

export type { EnvironmentConfig, SimulationMetadata } from './contracts/tick.ts'
export {
  IndexDatabaseError,
  IndexFullError,
  IndexLockedError,
  IndexNotFoundError,
  IndexReadOnlyError,
  IndexUnreachableError,
  IndexVersionError,
  NestedTransactionError,
} from './databases/errors.ts'
export type { IndexDatabase } from './databases/index-database.ts'
export type { BatchRow, BatchStatus, LedgerCounts, TickRange } from './databases/ledger-store.ts'
export type { MetadataStore } from './databases/metadata.ts'
export { MetadataReader, type MetadataReaderOptions, MetadataTimeoutError } from './databases/metadata-reader.ts'
export { dropIndex, type IndexOptions, listIndexedRuns, openIndex } from './databases/open-index.ts'
export type { SqlValue, Transaction } from './databases/transaction.ts'
export { InvalidRunIdError } from './errors.ts'
export type { Batch, Claim, ClaimResult } from './ledger/batch.ts'
export { BatchLedger, type LedgerEvents } from './ledger/batch-ledger.ts'
export { LedgerConflictError, StaleClaimError } from './ledger/errors.ts'
export type { Gap } from './ledger/gap.ts'
export type { WindowedLatency } from './ledger/latency-window.ts'
export type { LedgerMetrics } from './ledger/ledger-metrics.ts'
export type { LedgerOptions } from './ledger/ledger-options.ts'
export { isRunId, makeRunId, parseRunId, type RunIdParts, requireRunId } from './run-id.ts'
export type { IdempotencyTracker } from './trackers/idempotency-tracker.ts'
export { MemoryIdempotencyTracker, type MemoryTrackerOptions } from './trackers/memory-idempotency-tracker.ts'
export { MemoryRetryTracker } from './trackers/memory-retry-tracker.ts'
export type { RetryState, RetryTracker } from './trackers/retry-tracker.ts'
