import { BoundedMap } from './bounded-map.ts'
import { type MemoryTrackerOptions, memorySettings } from './memory-idempotency-tracker.ts'
import type { RetryState, RetryTracker } from './retry-tracker.ts'
import { joinScopedKey } from './scoped-key.ts'

/** Tracker in the memory of one process. */
export class MemoryRetryTracker implements RetryTracker {
  readonly #states: BoundedMap<RetryState>
  readonly #clock: () => number

  constructor(options: MemoryTrackerOptions = {}) {
    const { maxEntries, clock } = memorySettings(options)
    this.#states = new BoundedMap(maxEntries)
    this.#clock = clock
  }

  /** Number of entries. */
  get size(): number {
    return this.#states.size
  }

  async increment(scope: string, key: string): Promise<number> {
    const joined = joinScopedKey(scope, key)
    const now = this.#clock()
    const { count, firstAt, isDeadLettered } = this.#states.get(joined) ?? noFailure(now)
    this.#states.set(joined, { count: count + 1, firstAt, lastAt: now, isDeadLettered })
    return count + 1
  }

  async state(scope: string, key: string): Promise<RetryState | null> {
    return this.#states.get(joinScopedKey(scope, key)) ?? null
  }

  async markDeadLettered(scope: string, key: string): Promise<boolean> {
    const joined = joinScopedKey(scope, key)
    const state = this.#states.get(joined) ?? noFailure(this.#clock())
    if (state.isDeadLettered) return false
    this.#states.set(joined, { ...state, isDeadLettered: true })
    return true
  }

  async reset(scope: string, key: string): Promise<void> {
    this.#states.delete(joinScopedKey(scope, key))
  }

  async prune(olderThanMs: number): Promise<number> {
    const before = this.#clock() - olderThanMs
    return this.#states.deleteWhere(({ lastAt }) => lastAt < before)
  }
}

const noFailure = (now: number): RetryState => ({ count: 0, firstAt: now, lastAt: now, isDeadLettered: false })
