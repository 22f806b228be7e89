import type { BatchInfo } from '../../../contracts/notifications.ts'
import type { Transaction } from '../../../databases/transaction.ts'
import type { Batch } from '../../../ledger/batch.ts'
import type { BatchLedger } from '../../../ledger/batch-ledger.ts'
import type { Storage } from '../../../storage/storage.ts'
import type { ServiceContext } from '../../service.ts'

/** Where an indexer's batches come from, and who is told what became of them. */
export type BatchSource = {
  readonly kind: 'topic' | 'storage'
  /** After so many it gives a batch up by itself. */
  readonly maxAttempts: number
  open(run: SourceRun): Promise<OpenBatchSource>
}

export type SourceRun = {
  readonly runId: string
  /** The indexer's name. */
  readonly indexer: string
  readonly storage: Storage
  /** null where the run's sampling interval isn't known. */
  readonly ledger: BatchLedger | null
  readonly claimTimeoutMs: number
  readonly context: Pick<ServiceContext, 'note'>
}

export type OpenBatchSource = {
  /** How often a batch in hand has to be extended so that nobody else takes it. */
  readonly extendEveryMs: number
  /** null: none came within the time, or the signal aborted. */
  next(timeoutMs: number, signal: AbortSignal): Promise<SourceBatch | null>
  /** Gives back what is still in hand. */
  close(): Promise<void>
}

/** A batch in hand. */
export type SourceBatch = Batch & {
  /** 1 at first. A batch that failed before is flushed by itself, so that it can't take others down with it. */
  readonly attempt: number
  /** The ledger knew all of it as processed before the source was opened: it was delivered again. */
  readonly isIndexed: boolean
  /** What the topic said of it, or would have said. */
  readonly info: BatchInfo
  /** Notes in the ledger that all of it is indexed: with `tx` if and only if that commits. */
  complete(tx?: Transaction): Promise<void>
  /** After that has committed. */
  ack(): Promise<void>
  /** Its file was removed from the storage because it is old: it is done with, and no gap. */
  passOver(): Promise<void>
  /** It failed, and is to come again later. False where it has had all its attempts, and is on record as failed. */
  reject(error: unknown): Promise<boolean>
  /** It failed for good, and is on record elsewhere. */
  discard(error: unknown): Promise<void>
  extend(): Promise<void>
}
