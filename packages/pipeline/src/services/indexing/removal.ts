import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TickRange } from '../../databases/ledger-store.ts'
import { isEnvironmentFault, isGone } from '../../faults.ts'
import type { BatchLedger } from '../../ledger/batch-ledger.ts'
import type { Storage } from '../../storage/storage.ts'
import type { IndexedRun, IndexerDefinition } from './definition.ts'

/** Interval between checks for ticks removed from the storage. */
const LOOK_MS = 1_000
/** Transactions per check: batches waiting to be indexed get their turn in between. */
const MOST_AT_ONCE = 20

export type RemovalParts = {
  readonly definition: Pick<Required<IndexerDefinition>, 'remove'>
  readonly run: IndexedRun
  readonly ledger: BatchLedger | null
  readonly storage: Storage
}

/**
 * The index follows the storage: ticks whose batches were removed there (`keep`) are removed here too, by each indexer
 * for itself, and the ledger knows that they are no gap. Interrupted work is finished by the next check or the next
 * start.
 */
export class Removal {
  readonly #parts: RemovalParts
  /** How far each range was processed, by its first tick. */
  readonly #done = new Map<number, number>()
  #nextAt = 0

  constructor(parts: RemovalParts) {
    this.#parts = parts
  }

  /** Before the first batch, which would otherwise have a gap before it. An unavailable storage is checked later. */
  async begin(): Promise<void> {
    const { storage, run, ledger } = this.#parts
    if (ledger === null) return
    try {
      for (const range of await storage.removedRanges(run.runId)) await ledger.recordRemoved(range)
    } catch (error) {
      if (!isEnvironmentFault(error) || isGone(error)) throw error
    }
  }

  get msUntilDue(): number {
    return Math.max(0, this.#nextAt - performance.now())
  }

  async look(): Promise<void> {
    let isAll = true
    try {
      isAll = await this.#look()
    } finally {
      this.#nextAt = isAll ? performance.now() + LOOK_MS : 0
    }
  }

  /** False if something is left for the next check. */
  async #look(): Promise<boolean> {
    const { storage, run, ledger } = this.#parts
    const ranges = await storage.removedRanges(run.runId)
    const isNew = ({ tickStart, tickEnd }: TickRange): boolean => this.#done.get(tickStart) !== tickEnd
    let hasRemoved = false
    let isComplete = true
    for (const range of ranges.filter(isNew)) {
      await ledger?.recordRemoved(range)
      const { removed, isAll } = await this.#remove(range)
      hasRemoved ||= removed > 0
      if (isAll) this.#done.set(range.tickStart, range.tickEnd)
      else isComplete = false
    }
    if (hasRemoved) await run.database.reclaim()
    return isComplete
  }

  async #remove(range: TickRange): Promise<{ removed: number; isAll: boolean }> {
    const { definition, run } = this.#parts
    let removed = 0
    for (let steps = 0; steps < MOST_AT_ONCE; steps++) {
      const rows = await run.database.transaction(async tx => {
        await run.database.removedTicks.record(range, tx)
        return await definition.remove(range, tx, run)
      })
      removed += rows
      if (rows === 0) return { removed, isAll: true }
      await nextTurn()
    }
    return { removed, isAll: false }
  }
}
