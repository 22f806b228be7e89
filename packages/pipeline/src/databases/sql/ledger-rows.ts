import type { ArrivedRange, BatchRow, BatchStatus, GapRow, LedgerRows, TickRange } from '../ledger-store.ts'
import type { Transaction } from '../transaction.ts'
import { LEDGER_ROWS } from './ledger-row-statements.ts'

/** Rows of one ledger within a transaction. */
export class StoredLedgerRows implements LedgerRows {
  readonly now: number
  readonly #tx: Transaction
  readonly #indexer: string
  /** What this change adds to the counts, written once at its end. */
  readonly #added = { claimed: 0, completed: 0, failed: 0, gap_pending: 0, ready: 0, recorded: 0 }

  constructor(tx: Transaction, indexer: string, now: number) {
    this.#tx = tx
    this.#indexer = indexer
    this.now = now
  }

  async batch(key: string): Promise<BatchRow | null> {
    return await this.#first<BatchRow>(LEDGER_ROWS.batch, key)
  }

  async saveBatch(row: BatchRow, before: BatchRow | null): Promise<void> {
    const { key, tickStart, tickEnd, status, version, claimer, claimedAt, settledAt, error } = row
    const values = [key, tickStart, tickEnd, status, version, claimer, claimedAt, settledAt, error]
    await this.#tx.run(LEDGER_ROWS.saveBatch, this.#indexer, ...values)
    if (before !== null) this.#count(before.status, -1)
    this.#count(status, 1)
  }

  async stuckBatch(claimedAt: number): Promise<BatchRow | null> {
    return await this.#first<BatchRow>(LEDGER_ROWS.stuck, claimedAt)
  }

  async readyBatch(): Promise<BatchRow | null> {
    return await this.#first<BatchRow>(LEDGER_ROWS.ready)
  }

  async releaseWaiting({ tickStart, tickEnd }: TickRange): Promise<number> {
    const released = await this.#tx.run(LEDGER_ROWS.release, this.#indexer, tickStart, tickEnd)
    this.#count('gap_pending', -released)
    this.#count('ready', released)
    return released
  }

  async countRecorded(): Promise<void> {
    this.#added.recorded++
  }

  async removeCompleted({ tickStart, tickEnd }: TickRange): Promise<void> {
    this.#count('completed', -(await this.#tx.run(LEDGER_ROWS.removeCompleted, this.#indexer, tickStart, tickEnd)))
  }

  async removeBatch({ key, status }: BatchRow): Promise<void> {
    this.#count(status, -(await this.#tx.run(LEDGER_ROWS.removeBatch, this.#indexer, key)))
  }

  async arrivedIn({ tickStart, tickEnd }: TickRange): Promise<ArrivedRange[]> {
    return (await this.#tx.rows<StoredRange>(LEDGER_ROWS.arrivedIn, this.#indexer, tickStart, tickEnd)).map(rangeOf)
  }

  async arrivedAfter(tick: number): Promise<ArrivedRange | null> {
    const row = await this.#first<StoredRange>(LEDGER_ROWS.arrivedAfter, tick)
    return row && rangeOf(row)
  }

  async arrivedBefore(tick: number): Promise<ArrivedRange | null> {
    const row = await this.#first<StoredRange>(LEDGER_ROWS.arrivedBefore, tick)
    return row && rangeOf(row)
  }

  async replaceArrived(parts: readonly TickRange[], whole: ArrivedRange): Promise<void> {
    await this.#removeOthers(LEDGER_ROWS.removeArrived, parts, whole)
    const { tickStart, tickEnd, isHeld, gapSince, gapReportedAt, isGapSkipped } = whole
    const values = [tickStart, tickEnd, isHeld, gapSince, gapReportedAt, isGapSkipped]
    await this.#tx.run(LEDGER_ROWS.saveArrived, this.#indexer, ...values)
  }

  async processedIn({ tickStart, tickEnd }: TickRange): Promise<TickRange[]> {
    return await this.#tx.rows<TickRange>(LEDGER_ROWS.processedIn, this.#indexer, tickStart, tickEnd)
  }

  async replaceProcessed(parts: readonly TickRange[], whole: TickRange): Promise<void> {
    await this.#removeOthers(LEDGER_ROWS.removeProcessed, parts, whole)
    await this.#tx.run(LEDGER_ROWS.saveProcessed, this.#indexer, whole.tickStart, whole.tickEnd)
  }

  async overdueGaps(since: number, withHeld: boolean): Promise<GapRow[]> {
    return (await this.#tx.rows<StoredGap>(LEDGER_ROWS.overdue, this.#indexer, since, withHeld)).map(gapOf)
  }

  async writeCounts(): Promise<void> {
    const { claimed, completed, failed, gap_pending, ready, recorded } = this.#added
    const added = [claimed, completed, failed, gap_pending, ready, recorded]
    if (added.some(count => count !== 0)) await this.#tx.run(LEDGER_ROWS.addCounts, this.#indexer, ...added)
  }

  #count(status: BatchStatus, added: number): void {
    this.#added[status] += added
  }

  async #first<T>(sql: string, ...values: (string | number)[]): Promise<T | null> {
    const [row] = await this.#tx.rows<T>(sql, this.#indexer, ...values)
    return row ?? null
  }

  /** The part that starts where the whole does is overwritten and does not have to be removed. */
  async #removeOthers(sql: string, parts: readonly TickRange[], whole: TickRange): Promise<void> {
    const others = parts.filter(({ tickStart }) => tickStart !== whole.tickStart)
    const [first, last] = [others[0], others.at(-1)]
    if (first && last) await this.#tx.run(sql, this.#indexer, first.tickStart, last.tickStart)
  }
}

/** SQLite has no booleans, and its rows have no prototype; callers should not see a difference between engines. */
type Stored<T extends ArrivedRange> = Omit<T, 'isHeld' | 'isGapSkipped'> & {
  readonly isHeld: boolean | number
  readonly isGapSkipped: boolean | number
}
type StoredRange = Stored<ArrivedRange>
export type StoredGap = Stored<GapRow>

const rangeOf = (row: StoredRange): ArrivedRange => ({
  ...row,
  isHeld: Boolean(row.isHeld),
  isGapSkipped: Boolean(row.isGapSkipped),
})

export const gapOf = (row: StoredGap): GapRow => ({ ...rangeOf(row), previousEnd: row.previousEnd })
