import type { TickRange } from './ledger-store.ts'
import type { Transaction } from './transaction.ts'

/** The tables of this shape. */
export type TickTable = 'environment_tick' | 'organism_tick'

export type TickBlob = { readonly tick: number; readonly data: Uint8Array }

/** What an index holds: from its first tick to its last, and how many. */
export type IndexedRange = TickRange & { readonly ticks: number }

/** Ticks are counted in blocks of so many, so that their number is known without looking at each. */
export const BLOCK_TICKS = 256

/** One row a tick. What is read is null or empty where the table isn't there yet. */
export type TickBlobs = {
  /** Makes the tables where they are not there. */
  prepare(tx: Transaction): Promise<void>
  /** Writing a tick again replaces it. */
  write(blobs: readonly TickBlob[], tx: Transaction): Promise<void>
  /** Counts the blocks of these ticks anew. To be called once they are written, as late in the transaction as can be. */
  count(ticks: readonly number[], tx: Transaction): Promise<void>
  read(tick: number): Promise<Uint8Array | null>
  /** Those of these ticks that are there, lowest first. */
  readMany(ticks: readonly number[]): Promise<TickBlob[]>
  /** For each of these ticks the first at or after it that is there, lowest first, each once. */
  following(ticks: readonly number[]): Promise<number[]>
  range(): Promise<IndexedRange | null>
}
