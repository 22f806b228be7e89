import { refuseUnknown, wholeNumber } from '../options.ts'
import { BoundedMap } from './bounded-map.ts'
import type { IdempotencyTracker } from './idempotency-tracker.ts'
import { joinScopedKey } from './scoped-key.ts'

/** Options of the trackers in memory. */
export type MemoryTrackerOptions = {
  /** Maximum number of entries; the least recently used are removed (default 100 000). */
  readonly maxEntries?: number
  /** Current time in milliseconds since 1970. */
  readonly clock?: () => number
}

/** Tracker in the memory of one process. */
export class MemoryIdempotencyTracker implements IdempotencyTracker {
  readonly #markedAt: BoundedMap<number>
  readonly #clock: () => number

  constructor(options: MemoryTrackerOptions = {}) {
    const { maxEntries, clock } = memorySettings(options)
    this.#markedAt = new BoundedMap(maxEntries)
    this.#clock = clock
  }

  /** Number of entries. */
  get size(): number {
    return this.#markedAt.size
  }

  async isProcessed(scope: string, key: string): Promise<boolean> {
    return this.#markedAt.get(joinScopedKey(scope, key)) !== undefined
  }

  async markProcessed(scope: string, key: string): Promise<boolean> {
    const joined = joinScopedKey(scope, key)
    if (this.#markedAt.get(joined) !== undefined) return false
    this.#markedAt.set(joined, this.#clock())
    return true
  }

  async prune(olderThanMs: number): Promise<number> {
    const before = this.#clock() - olderThanMs
    return this.#markedAt.deleteWhere(markedAt => markedAt < before)
  }
}

export function memorySettings(options: MemoryTrackerOptions): Required<MemoryTrackerOptions> {
  refuseUnknown(options, ['maxEntries', 'clock'])
  const { maxEntries = 100_000, clock = Date.now } = options
  return { maxEntries: wholeNumber('maxEntries', maxEntries, { min: 1 }), clock }
}
