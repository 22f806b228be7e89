import type { BatchInfo } from '../../../contracts/notifications.ts'
import type { Transaction } from '../../../databases/transaction.ts'
import type { Batch } from '../../../ledger/batch-claim.ts'
import type { BatchLedger } from '../../../ledger/batch-ledger.ts'
import type { Storage } from '../../../storage/storage.ts'
import type { ServiceContext } from '../../service.ts'

/** Source of an indexer's batches. */
export type BatchSource = {
  /** Kind of the source. */
  readonly kind: 'topic' | 'storage'
  /** Attempts after which the source gives up a batch by itself. */
  readonly maxAttempts: number
  /** Opens the source for a run. */
  open(run: SourceRun): Promise<OpenBatchSource>
}

/** The run that a source is opened for. */
export type SourceRun = {
  /** Id of the run. */
  readonly runId: string
  /** Name of the indexer. */
  readonly indexer: string
  /** Storage of the batches. */
  readonly storage: Storage
  /** Ledger of the indexer, or null if the sampling interval of the run is unknown. */
  readonly ledger: BatchLedger | null
  /** Milliseconds after which a claim may be taken over. */
  readonly claimTimeoutMs: number
  /** Where the source reports oddities. */
  readonly context: Pick<ServiceContext, 'note'>
}

/** An open source. */
export type OpenBatchSource = {
  /** Interval at which a claimed batch must be extended, in milliseconds. */
  readonly extendEveryMs: number
  /** Claims the next batch. Returns null if none arrives in time or the signal aborts. */
  next(timeoutMs: number, signal: AbortSignal): Promise<SourceBatch | null>
  /** Releases claimed batches. */
  close(): Promise<void>
}

/** A claimed batch. */
export type SourceBatch = Batch & {
  /** Number of the attempt, from 1. A batch that failed before is flushed alone, so that it does not affect others. */
  readonly attempt: number
  /** Whether the ledger had recorded the whole batch as processed before: it was redelivered. */
  readonly isIndexed: boolean
  /** Announcement of the batch, or what it would be. */
  readonly info: BatchInfo
  /** Records in the ledger that the batch is indexed. With `tx`, if and only if that transaction commits. */
  complete(tx?: Transaction): Promise<void>
  /** Acknowledges the batch, after `complete` has committed. */
  ack(): Promise<void>
  /** Skips the batch because its file was removed from the storage for its age. It is not a gap. */
  passOver(): Promise<void>
  /** Makes the batch available again later. Returns false if it has no attempts left and is recorded as failed. */
  reject(error: unknown): Promise<boolean>
  /** Gives up the batch, which is recorded elsewhere. */
  discard(error: unknown): Promise<void>
  /** Extends the claim. */
  extend(): Promise<void>
}
