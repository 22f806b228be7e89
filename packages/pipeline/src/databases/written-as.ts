import type { TickRange } from './ledger-store.ts'
import type { Transaction } from './transaction.ts'

/** How the environment's ticks from the first to the last were written. Ranges overlap where it went back and forth. */
export type WrittenAs = TickRange & {
  readonly strategy: string
  /** As JSON: what reading depends on. */
  readonly settings: string
}

export type WrittenAsRows = {
  /** Makes the table where it is not there. */
  prepare(tx: Transaction): Promise<void>
  /** Widens the range of that strategy and these settings; as late in a transaction as can be, since others then wait. */
  record(writtenAs: WrittenAs, tx: Transaction): Promise<void>
  /** By strategy and settings; empty where nothing was recorded. */
  list(): Promise<WrittenAs[]>
}
