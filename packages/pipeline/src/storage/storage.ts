/** Where batches and metadata are kept. The file system is one implementation; object storage can be another. */

import type { BatchInfo, MetadataInfo } from '../contracts/notifications.ts'
import type { SimulationMetadata } from '../contracts/tick.ts'
import type { EncodedTick } from '../contracts/tick-codec.ts'
import type { TickRange } from '../databases/ledger-store.ts'

/** Ticks of one run in ascending order. They are read one by one and do not have to be in memory together. */
export type TickBatch = {
  /** Id of the run. */
  readonly runId: string
  /** First tick. */
  readonly tickStart: number
  /** Last tick. */
  readonly tickEnd: number
  /** Number of ticks. */
  readonly tickCount: number
  /** The ticks. */
  readonly ticks: Iterable<EncodedTick> | AsyncIterable<EncodedTick>
}

/** Result of storing a batch. */
export type StoredBatch = BatchInfo & {
  /** Size of the compressed file. */
  readonly bytes: number
  /** Whether the same content was stored before, by an attempt whose answer was lost. */
  readonly alreadyStored: boolean
}

/** Key of a stored batch. */
export type BatchRef = {
  /** Storage key. */
  readonly key: string
  /** Id of the run. */
  readonly runId: string
  /** First tick. */
  readonly tickStart: number
  /** Last tick. */
  readonly tickEnd: number
}

/** Selection of batches. */
export type BatchQuery = {
  /** Prefix of keys: a run id and '/', and any further part of a key. */
  readonly prefix: string
  /** First tick. A batch that began before it and contains it is included. */
  readonly fromTick?: number
  /** Last tick. */
  readonly toTick?: number
  /** `next` of the previous page. */
  readonly after?: string
  /** Maximum number of batches (default 1000). */
  readonly limit?: number
}

/** A page of results. */
export type Page<T> = {
  /** The results. */
  readonly items: readonly T[]
  /** Value of `after` for the next page, or null if there are no more. */
  readonly next: string | null
}

/** Selection of runs. */
export type RunQuery = {
  /** `next` of the previous page. */
  readonly after?: string
  /** Maximum number of runs (default 1000). */
  readonly limit?: number
}

/** A file in quarantine. */
export type QuarantinedFile = {
  /** Storage key that it had. */
  readonly key: string
  /** Path of the file. */
  readonly path: string
  /** Why it was quarantined. */
  readonly reason: string
  /** Time of the quarantine, in milliseconds since 1970. */
  readonly quarantinedAt: number
}

/** Storage of batch files and metadata. */
export type Storage = {
  /**
   * Stores a batch. When it resolves, the batch is durable and visible as a whole; otherwise nothing of it is. Storing
   * the same batch again succeeds and changes nothing.
   */
  writeBatch(batch: TickBatch): Promise<StoredBatch>
  /**
   * Reads ticks one at a time, with one tick and a few buffers in memory. The file is verified before the first tick
   * and again while it is read: a loop that ends without an error has read the whole batch.
   */
  readTicks(key: string): AsyncGenerator<EncodedTick, void, undefined>
  /** Reads all ticks into memory, or rejects. */
  readBatch(key: string, options?: { readonly maxBytes?: number }): Promise<readonly EncodedTick[]>
  /** Verifies a file and returns its description. */
  describeBatch(key: string): Promise<BatchInfo>
  /** Lists batches in the order of their ticks. */
  listBatches(query: BatchQuery): Promise<Page<BatchRef>>
  /** Lists runs in the order of their start. */
  listRuns(query?: RunQuery): Promise<Page<string>>
  /** Stores the metadata of a run. */
  writeMetadata(metadata: SimulationMetadata): Promise<MetadataInfo>
  /** Reads the metadata of a run, or null if it is not stored yet. */
  readMetadata(runId: string): Promise<SimulationMetadata | null>
  /** Verifies the metadata file and returns its description, or null if it is not stored yet. */
  describeMetadata(runId: string): Promise<MetadataInfo | null>
  /** Moves a file aside with the reason. Quarantined files are never deleted. */
  quarantine(key: string, reason: string): Promise<QuarantinedFile>
  /** Lists quarantined files of a run. */
  listQuarantined(runId: string): Promise<readonly QuarantinedFile[]>
  /** Time at which a batch was stored in milliseconds since 1970, by the storage's clock, or null. */
  writtenAt(key: string): Promise<number | null>
  /**
   * Removes all batches in a range of ticks permanently. Reading one then rejects with `BatchRemovedError`. If it is
   * interrupted, the next call continues; concurrent calls are allowed.
   */
  removeBatches(runId: string, range: TickRange): Promise<RemovedBatches>
  /** Removed ranges in ascending order. */
  removedRanges(runId: string): Promise<readonly TickRange[]>
}

/** Batches that were removed. */
export type RemovedBatches = {
  /** Number of batches. */
  readonly batches: number
  /** Bytes of their files. */
  readonly bytes: number
}
