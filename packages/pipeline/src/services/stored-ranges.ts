import type { Storage } from '../storage/storage.ts'

type Range = { readonly tickStart: number; tickEnd: number }

/**
 * Which ticks of a run are in the storage. A source that restarts after a kill uses it: ticks that were only in memory
 * must be produced again, and stored ones must not.
 */
export class StoredRanges {
  /** Ascending; ranges that are adjacent, by the sampling interval, are merged. */
  readonly #ranges: readonly Range[]

  static async of(storage: Storage, runId: string, samplingInterval: number): Promise<StoredRanges> {
    const ranges: Range[] = []
    // Ticks removed for their age were stored.
    const removed = await storage.removedRanges(runId)
    for (let after: string | null = ''; after !== null; ) {
      const page = await storage.listBatches({ prefix: `${runId}/`, ...(after !== '' && { after }) })
      for (const { tickStart, tickEnd } of page.items) {
        const last = ranges.at(-1)
        if (last === undefined || tickStart > last.tickEnd + samplingInterval) ranges.push({ tickStart, tickEnd })
        else last.tickEnd = Math.max(last.tickEnd, tickEnd)
      }
      after = page.next
    }
    return new StoredRanges(removed.length === 0 ? ranges : joined([...removed, ...ranges], samplingInterval))
  }

  private constructor(ranges: readonly Range[]) {
    this.#ranges = ranges
  }

  /** The last tick up to which nothing is missing; -1 if tick 0 is missing. */
  get wholeUpTo(): number {
    const [first] = this.#ranges
    return first?.tickStart === 0 ? first.tickEnd : -1
  }

  has(tick: number): boolean {
    let low = 0
    let high = this.#ranges.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#ranges[middle] as Range).tickEnd < tick) low = middle + 1
      else high = middle
    }
    const range = this.#ranges[low]
    return range !== undefined && range.tickStart <= tick
  }
}

function joined(all: readonly Range[], samplingInterval: number): Range[] {
  const ranges: Range[] = []
  for (const { tickStart, tickEnd } of all.toSorted((a, b) => a.tickStart - b.tickStart)) {
    const last = ranges.at(-1)
    if (last === undefined || tickStart > last.tickEnd + samplingInterval) ranges.push({ tickStart, tickEnd })
    else last.tickEnd = Math.max(last.tickEnd, tickEnd)
  }
  return ranges
}
