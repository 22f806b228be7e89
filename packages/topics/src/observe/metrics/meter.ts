const BUCKETS = 60
const BUCKET_MS = 1_000

/** The clock of all meters, in whole seconds. */
export const presentSecond = (): number => Math.floor(performance.now() / BUCKET_MS)

/** A total, and the part of it from the last minute. Recording and reading are O(1): a ring of seconds and its sum. */
export class Meter {
  total = 0
  /** Within the last minute. */
  #sum = 0
  readonly #ring = new Float64Array(BUCKETS)
  #second: number
  readonly #startedAt: number

  /** `startedAt`: when counting became possible. */
  constructor(startedAt = presentSecond()) {
    this.#startedAt = startedAt
    this.#second = presentSecond()
  }

  add(count: number, second = presentSecond()): void {
    this.#advance(second)
    const slot = second % BUCKETS
    this.#ring[slot] = (this.#ring[slot] ?? 0) + count
    this.#sum += count
    this.total += count
  }

  lastMinute(second = presentSecond()): number {
    this.#advance(second)
    return this.#sum
  }

  /** Per second, over the last minute or the meter's own lifetime if that is shorter. */
  rate(second = presentSecond()): number {
    return this.lastMinute(second) / Math.min(BUCKETS, Math.max(1, second - this.#startedAt))
  }

  #advance(second: number): void {
    if (second <= this.#second) return
    if (this.#sum !== 0) {
      const steps = Math.min(BUCKETS, second - this.#second)
      for (let step = 1; step <= steps; step++) {
        const slot = (this.#second + step) % BUCKETS
        this.#sum -= this.#ring[slot] ?? 0
        this.#ring[slot] = 0
      }
    }
    this.#second = second
  }
}
