import type { RawTick } from '../contracts/tick-codec.ts'
import type { IndexedRun } from '../databases/indexed-run.ts'
import type { TickRange } from '../databases/ledger-store.ts'
import type { PackedBytes } from '../databases/packing.ts'
import type { IndexedRange } from '../databases/tick-blobs.ts'
import type { Transaction } from '../databases/transaction.ts'

/** How the cells of ticks are kept in an index: what is written, and how it is read again. */
export type EnvironmentStrategy = {
  /** Recorded with what it writes: a reader is given the strategy of that name. */
  readonly name: string
  /**
   * What reading depends on, such as the size of its pieces; as JSON can hold it. Recorded with what it writes, too. Without
   * it the strategy reads whatever it has ever written. From a configuration: its `strategyOptions`.
   */
  readonly settings?: { readonly [name: string]: unknown }
  /** Makes its tables, where they are not there. */
  prepare(run: IndexedRun, tx: Transaction): Promise<void>
  /** Upserts keyed by tick, empty ticks too: the same ticks may come again, in another order and with others. */
  write(ticks: readonly RawTick[], tx: Transaction, run: IndexedRun): Promise<void>
  /** The cells' bytes, a CellStateList; null where the tick is not indexed, or the tables are not there yet. */
  read(tick: number, run: IndexedRun): Promise<Uint8Array | null>
  /** The same as it is stored, where that is one piece: a server may hand it on without unpacking it. */
  readPacked?(tick: number, run: IndexedRun): Promise<PackedBytes | null>
  /** Removes some of these ticks and gives how many; called until there are none. Without it they stay when `keep` removes them. */
  remove?(ticks: TickRange, tx: Transaction, run: IndexedRun): Promise<number>
  /** null where nothing is indexed, or the tables are not there yet. */
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

/** Gives a strategy of your own its type: the default export of the module that the configuration names. */
export function defineEnvironmentStrategy(strategy: EnvironmentStrategy): EnvironmentStrategy {
  return strategy
}
