import { CorruptFileError, FileNotFoundError } from '../../storage/errors.ts'
import type { BatchRef, Storage } from '../../storage/storage.ts'

/** Runs whose longest batch is remembered: usually a service sees one at a time. */
const KEPT_RUNS = 16

/**
 * Which of some ticks are already stored: a run that continues from an earlier state sends ticks again, perhaps in
 * other batches and with other capture times, and stored twice they would be two contradictory files.
 *
 * Only the longest batch of a run is kept, so memory does not grow with it. A batch that begins before the given ticks
 * can overlap them by at most that length, so a check lists only a folder or two.
 */
export class StoredTicks {
  readonly #storage: Storage
  readonly #longest = new Map<string, number>()

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /**
   * Of the ticks from `first` to `last`, those that are stored, or were and have been removed since. Only files with
   * overlapping ticks are read.
   */
  async between(runId: string, first: number, last: number): Promise<Set<number>> {
    const stored = new Set<number>()
    const lookBack = await this.#longestOf(runId)
    const batches = this.#batches(runId, Math.max(0, first - lookBack), last)
    for await (const batch of batches) {
      if (batch.tickEnd >= first) await this.#addTicksOf(batch, stored)
    }
    for (const { tickStart, tickEnd } of await this.#storage.removedRanges(runId)) {
      for (let tick = Math.max(first, tickStart); tick <= Math.min(last, tickEnd); tick++) stored.add(tick)
    }
    return stored
  }

  /** A batch of this length is being stored. */
  note(runId: string, first: number, last: number): void {
    const known = this.#longest.get(runId)
    if (known !== undefined && last - first > known) this.#longest.set(runId, last - first)
  }

  async #longestOf(runId: string): Promise<number> {
    let longest = this.#longest.get(runId)
    if (longest !== undefined) return longest
    longest = 0
    for await (const { tickStart, tickEnd } of this.#batches(runId, 0, Number.MAX_SAFE_INTEGER)) {
      longest = Math.max(longest, tickEnd - tickStart)
    }
    this.#longest.set(runId, longest)
    for (const oldest of this.#longest.keys()) {
      if (this.#longest.size > KEPT_RUNS) this.#longest.delete(oldest)
    }
    return longest
  }

  async *#batches(runId: string, fromTick: number, toTick: number): AsyncGenerator<BatchRef, void, undefined> {
    let after: string | null | undefined
    while (after !== null) {
      const page = await this.#storage.listBatches({
        prefix: `${runId}/`,
        fromTick,
        toTick,
        ...(after !== undefined && { after }),
      })
      yield* page.items
      after = page.next
    }
  }

  /** An untrustworthy file counts as empty: its ticks are stored again, beside it. */
  async #addTicksOf({ key }: BatchRef, stored: Set<number>): Promise<void> {
    const found: number[] = []
    try {
      for await (const { tick } of this.#storage.readTicks(key)) found.push(tick)
    } catch (error) {
      if (error instanceof CorruptFileError || error instanceof FileNotFoundError) return
      throw error
    }
    for (const tick of found) stored.add(tick)
  }
}
