import type { TickRange } from './ledger-store.ts'
import type { Transaction } from './transaction.ts'

/** Ticks that were indexed and removed, so that a missing tick can be explained. */
export type RemovedTicks = {
  /** Adds a range, in the transaction that removes its first ticks. */
  record(range: TickRange, tx: Transaction): Promise<void>
  /** The range that a tick was removed with, or null. */
  rangeOf(tick: number): Promise<TickRange | null>
}
