import type { TickRange } from './ledger-store.ts'
import type { Transaction } from './transaction.ts'

/** Tables of this shape. */
export type TickTable = 'environment_tick' | 'organism_tick'

export type TickBlob = { readonly tick: number; readonly data: Uint8Array }

/** Range of indexed ticks. */
export type IndexedRange = TickRange & {
  /** Number of indexed ticks in the range. */
  readonly ticks: number
}

/** Indexed ticks around one that is not. */
export type NearestTicks = {
  /** Last indexed tick before it, or null. */
  readonly before: number | null
  /** First indexed tick after it, or null. */
  readonly after: number | null
}

/** Ticks per block. They are counted per block, so that their number is known without reading each. */
export const BLOCK_TICKS = 256

export type TickBlock = { readonly block: number; readonly ticks: number }

/** One row per tick. Results are null or empty while the table does not exist. */
export type TickBlobs = {
  /** Creates the tables if they do not exist. */
  prepare(tx: Transaction): Promise<void>
  /** Writes ticks, replacing existing ones. Returns those that did not exist. */
  write(blobs: readonly TickBlob[], tx: Transaction): Promise<number[]>
  /**
   * Counts the ticks that `write` returned as new, in the same transaction. Call it as late as possible, because others
   * then wait.
   */
  count(newTicks: readonly number[], tx: Transaction): Promise<void>
  /** Removes at most the given number of ticks of the range, lowest first; returns the number removed. The count goes down too. */
  remove(range: TickRange, limit: number, tx: Transaction): Promise<number>
  read(tick: number): Promise<Uint8Array | null>
  /** Those of these ticks that exist, the lowest first. */
  readMany(ticks: readonly number[]): Promise<TickBlob[]>
  /** For each of these ticks, the first existing one at or after it, the lowest first, each once. */
  following(ticks: readonly number[]): Promise<number[]>
  /** Blocks of this many ticks each (`BLOCK_TICKS`) between two, with the number of their ticks, the lowest first. */
  blocks(first: number, last: number, limit: number): Promise<TickBlock[]>
  /** Existing ticks of a range, the lowest first. */
  ticksIn(range: TickRange, limit: number): Promise<number[]>
  range(): Promise<IndexedRange | null>
  /** The last existing tick before this one, and the first after it. */
  nearest(tick: number): Promise<NearestTicks>
}

/** Number of these ticks per block, sorted by block, so that two writers lock them in the same order. */
export function countByBlock(ticks: readonly number[]): [block: number, ticks: number][] {
  const counts = new Map<number, number>()
  for (const tick of ticks) {
    const block = Math.floor(tick / BLOCK_TICKS)
    counts.set(block, (counts.get(block) ?? 0) + 1)
  }
  return [...counts].sort(([a], [b]) => a - b)
}
