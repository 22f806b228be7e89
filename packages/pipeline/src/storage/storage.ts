/** Where batches and metadata are kept. The file system is one implementation; object storage can be another. */

import type { BatchInfo, MetadataInfo } from '../contracts/notifications.ts'
import type { SimulationMetadata } from '../contracts/tick.ts'
import type { EncodedTick } from '../contracts/tick-codec.ts'
import type { TickRange } from '../databases/ledger-store.ts'

/** Ticks of one run, in ascending order. They are taken one by one, so they need not be in memory together. */
export type TickBatch = {
  readonly runId: string
  readonly tickStart: number
  readonly tickEnd: number
  readonly tickCount: number
  readonly ticks: Iterable<EncodedTick> | AsyncIterable<EncodedTick>
}

export type StoredBatch = BatchInfo & {
  /** Of the file, compressed. */
  readonly bytes: number
  /** The same content was there before, from an attempt whose answer was lost. */
  readonly alreadyStored: boolean
}

export type BatchRef = {
  readonly key: string
  readonly runId: string
  readonly tickStart: number
  readonly tickEnd: number
}

export type BatchQuery = {
  /** What keys begin with: a run id and '/', and as much more as you like. */
  readonly prefix: string
  /**
   * Batches that have ticks in this range, both ends included; also one that began before it. Batches of a run don't
   * overlap, so that is one at most, and it is looked for no further back than the folder that has it.
   */
  readonly fromTick?: number
  readonly toTick?: number
  /** `next` of the page before. */
  readonly after?: string
  /** How many at most; 1000 if not said. */
  readonly limit?: number
}

export type Page<T> = {
  readonly items: readonly T[]
  /** For `after`; null: there is no more. */
  readonly next: string | null
}

export type RunQuery = { readonly after?: string; readonly limit?: number }

export type QuarantinedFile = {
  /** Where it was. */
  readonly key: string
  /** Where it is now. */
  readonly path: string
  readonly reason: string
  readonly quarantinedAt: number
}

export type Storage = {
  /**
   * Durable and visible as a whole when it resolves; otherwise nothing of it is. Writing the same batch again succeeds
   * and changes nothing.
   */
  writeBatch(batch: TickBatch): Promise<StoredBatch>
  /**
   * The ticks, one at a time. The file is verified before the first is handed out, and again as it is read: a loop that
   * ends without an error has had the whole batch. Never more than a tick and a few buffers in memory.
   */
  readTicks(key: string): AsyncGenerator<EncodedTick, void, undefined>
  /** All ticks or an error. */
  readBatch(key: string, options?: { readonly maxBytes?: number }): Promise<readonly EncodedTick[]>
  /** What the verified file says of itself. */
  describeBatch(key: string): Promise<BatchInfo>
  /** In the order of their ticks. */
  listBatches(query: BatchQuery): Promise<Page<BatchRef>>
  /** In the order of their start. */
  listRuns(query?: RunQuery): Promise<Page<string>>
  writeMetadata(metadata: SimulationMetadata): Promise<MetadataInfo>
  /** null: not there yet. */
  readMetadata(runId: string): Promise<SimulationMetadata | null>
  /** What the verified file says of itself; null: not there yet. */
  describeMetadata(runId: string): Promise<MetadataInfo | null>
  /** Moves a file aside, with the reason. It is never deleted. */
  quarantine(key: string, reason: string): Promise<QuarantinedFile>
  listQuarantined(runId: string): Promise<readonly QuarantinedFile[]>
  /** When a batch was written, by the storage's clock in unix milliseconds; null: it is not there. */
  writtenAt(key: string): Promise<number | null>
  /**
   * Removes all batches from the first to the last tick of the range, for good. Reading one of them rejects with
   * `BatchRemovedError` from then on. Broken off, it is done again by the next call; two at the same time are fine.
   */
  removeBatches(runId: string, range: TickRange): Promise<RemovedBatches>
  /** The ranges that were removed, ascending. */
  removedRanges(runId: string): Promise<readonly TickRange[]>
}

export type RemovedBatches = { readonly batches: number; readonly bytes: number }
