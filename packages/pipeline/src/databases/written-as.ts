import type { TickRange } from './ledger-store.ts'
import type { Transaction } from './transaction.ts'

/** How a range of environment ticks was written. Ranges overlap if the strategy was switched back. */
export type WrittenAs = TickRange & {
  /** Name of the strategy. */
  readonly strategy: string
  /** Settings that reading depends on, as JSON. */
  readonly settings: string
}

export type WrittenAsRows = {
  /** Creates the table if it does not exist. */
  prepare(tx: Transaction): Promise<void>
  /** Extends the range of this strategy and these settings. Call it as late as possible, because others then wait. */
  record(writtenAs: WrittenAs, tx: Transaction): Promise<void>
  /** Sorted by strategy and settings; empty if nothing was recorded. */
  list(): Promise<WrittenAs[]>
}
