const BUCKETS = 60
const BUCKET_MS = 1_000

/** A total and its rate over the last minute. Recording is O(1): one ring of one-second buckets. */
export class Meter {
  total = 0
  readonly #ring = new Float64Array(BUCKETS)
  #bucket = Math.floor(performance.now() / BUCKET_MS)
  readonly #startedAt = performance.now()

  add(count: number): void {
    this.total += count
    this.#advance()
    const slot = this.#bucket % BUCKETS
    this.#ring[slot] = (this.#ring[slot] ?? 0) + count
  }

  /** Per second, over the window or the meter's own life if that is shorter. */
  rate(): number {
    this.#advance()
    const sum = this.#ring.reduce((total, each) => total + each, 0)
    const seconds = Math.min(BUCKETS, Math.max(1, (performance.now() - this.#startedAt) / 1_000))
    return sum / seconds
  }

  #advance(): void {
    const now = Math.floor(performance.now() / BUCKET_MS)
    if (now === this.#bucket) return
    const steps = Math.min(BUCKETS, now - this.#bucket)
    for (let step = 1; step <= steps; step++) this.#ring[(this.#bucket + step) % BUCKETS] = 0
    this.#bucket = now
  }
}
