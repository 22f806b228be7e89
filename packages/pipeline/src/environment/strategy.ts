import type { RawTick } from '../contracts/tick-codec.ts'
import type { IndexedRun } from '../databases/indexed-run.ts'
import type { IndexedRange } from '../databases/tick-blobs.ts'
import type { Transaction } from '../databases/transaction.ts'

/** How the cells of ticks are kept in an index: what is written, and how it is read again. */
export type EnvironmentStrategy = {
  /** For people. */
  readonly name: string
  /** Makes its tables, where they are not there. */
  prepare(run: IndexedRun, tx: Transaction): Promise<void>
  /** Upserts keyed by tick, empty ticks too: the same ticks may come again, in another order and with others. */
  write(ticks: readonly RawTick[], tx: Transaction, run: IndexedRun): Promise<void>
  /** The cells' bytes, a CellStateList; null where the tick is not indexed, or the tables are not there yet. */
  read(tick: number, run: IndexedRun): Promise<Uint8Array | null>
  /** null where nothing is indexed, or the tables are not there yet. */
  range(run: IndexedRun): Promise<IndexedRange | null>
}

export const STRATEGY_VERBS = ['prepare', 'write', 'read', 'range'] as const

/** Gives a strategy of your own its type: the default export of the module that the configuration names. */
export function defineEnvironmentStrategy(strategy: EnvironmentStrategy): EnvironmentStrategy {
  return strategy
}
