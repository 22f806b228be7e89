import type { TickRange } from './ledger-store.ts'
import type { Transaction } from './transaction.ts'

/** The tables of this shape. */
export type TickTable = 'environment_tick' | 'organism_tick'

export type TickBlob = { readonly tick: number; readonly data: Uint8Array }

/** Range of indexed ticks. */
export type IndexedRange = TickRange & {
  /** Number of indexed ticks in the range. */
  readonly ticks: number
}

/** Ticks are counted in blocks of so many, so that their number is known without looking at each. */
const BLOCK_TICKS = 256

/** One row a tick. What is read is null or empty where the table isn't there yet. */
export type TickBlobs = {
  /** Makes the tables where they are not there. */
  prepare(tx: Transaction): Promise<void>
  /** Writing a tick again replaces it. Gives those that were not there before. */
  write(blobs: readonly TickBlob[], tx: Transaction): Promise<number[]>
  /** Counts ticks that `write` said are new, in the same transaction, as late in it as can be: others then wait. */
  count(newTicks: readonly number[], tx: Transaction): Promise<void>
  /** Removes at most the given number of ticks of the range, lowest first; returns the number removed. The count goes down too. */
  remove(range: TickRange, limit: number, tx: Transaction): Promise<number>
  read(tick: number): Promise<Uint8Array | null>
  /** Those of these ticks that are there, lowest first. */
  readMany(ticks: readonly number[]): Promise<TickBlob[]>
  /** For each of these ticks the first at or after it that is there, lowest first, each once. */
  following(ticks: readonly number[]): Promise<number[]>
  range(): Promise<IndexedRange | null>
}

/** How many of these ticks are in each block, by block: in that order, so that two who count don't wait for each other. */
export function countByBlock(ticks: readonly number[]): [block: number, ticks: number][] {
  const counts = new Map<number, number>()
  for (const tick of ticks) {
    const block = Math.floor(tick / BLOCK_TICKS)
    counts.set(block, (counts.get(block) ?? 0) + 1)
  }
  return [...counts].sort(([a], [b]) => a - b)
}
