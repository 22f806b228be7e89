import type { RawTick } from '../contracts/tick-codec.ts'
import type { IndexedRun } from '../databases/indexed-run.ts'
import type { TickRange } from '../databases/ledger-store.ts'
import type { PackedBytes } from '../databases/packing.ts'
import type { IndexedRange } from '../databases/tick-blobs.ts'
import type { Transaction } from '../databases/transaction.ts'

/** How cells of ticks are stored in an index and read from it. */
export type EnvironmentStrategy = {
  /** Name of the strategy. It is recorded with the ticks, so that they are read with the same strategy. */
  readonly name: string
  /**
   * Settings that reading depends on, such as a block size, as a JSON value. They are recorded with the ticks. Omit it
   * if the strategy can read everything it has ever written. In a configuration: `strategyOptions`.
   */
  readonly settings?: { readonly [name: string]: unknown }
  /** Creates missing tables. */
  prepare(run: IndexedRun, tx: Transaction): Promise<void>
  /** Upserts ticks, including empty ones. The same ticks may come again, in another order and with others. */
  write(ticks: readonly RawTick[], tx: Transaction, run: IndexedRun): Promise<void>
  /** Returns the cells of a tick as a CellStateList, or null if the tick is not indexed or the tables do not exist yet. */
  read(tick: number, run: IndexedRun): Promise<Uint8Array | null>
  /** Returns the cells as they are stored, if that is one piece, so that a server can send them without unpacking. */
  readPacked?(tick: number, run: IndexedRun): Promise<PackedBytes | null>
  /**
   * Removes some of these ticks and returns their number; it is called until there are none. Without it, ticks are
   * kept when `keep` removes their batches.
   */
  remove?(ticks: TickRange, tx: Transaction, run: IndexedRun): Promise<number>
  /** Range of indexed ticks, or null if there are none or the tables do not exist yet. */
  range(run: IndexedRun): Promise<IndexedRange | null>
}

/** The same text for the same settings, in whatever order they were given. */
export function settingsText({ settings = {} }: Pick<EnvironmentStrategy, 'settings'>): string {
  return JSON.stringify(settings, (_, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}

export const STRATEGY_VERBS = ['prepare', 'write', 'read', 'range'] as const

/**
 * Types your own strategy: the default export of the module that the configuration names.
 *
 * @example
 * export default defineEnvironmentStrategy({ ...singleBlob(), name: 'archive' })
 */
export function defineEnvironmentStrategy(strategy: EnvironmentStrategy): EnvironmentStrategy {
  return strategy
}
