import type { TickRange } from './ledger-store.ts'
import type { Transaction } from './transaction.ts'

/** Which ticks were indexed once and were removed since: what is not found there was not forgotten. */
export type RemovedTicks = {
  /** Adds a range, in the transaction that removes the first of it. */
  record(range: TickRange, tx: Transaction): Promise<void>
  /** The range that a tick was removed with; null: it wasn't. */
  rangeOf(tick: number): Promise<TickRange | null>
}
