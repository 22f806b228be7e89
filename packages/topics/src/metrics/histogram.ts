/** Eight buckets to each doubling: a percentile is right to within about 9 %. */
const PER_DOUBLING = 8
/** From a microsecond to about an hour. */
const BUCKETS = 32 * PER_DOUBLING

export type Percentiles = {
  readonly count: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

/** Latencies in milliseconds, recorded in O(1) into logarithmic buckets. */
export class Histogram {
  readonly #buckets = new Float64Array(BUCKETS)
  #count = 0
  #max = 0

  record(ms: number): void {
    const index = Math.floor(Math.log2(Math.max(ms * 1_000, 1)) * PER_DOUBLING)
    const bucket = Math.min(BUCKETS - 1, index)
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1
    this.#count++
    if (ms > this.#max) this.#max = ms
  }

  snapshot(): Percentiles {
    return {
      count: this.#count,
      p50: this.#percentile(0.5),
      p95: this.#percentile(0.95),
      p99: this.#percentile(0.99),
      max: this.#max,
    }
  }

  #percentile(fraction: number): number {
    let seen = 0
    for (const [index, count] of this.#buckets.entries()) {
      seen += count
      // The upper edge of the bucket, so that a percentile is never flattered.
      if (count > 0 && seen >= this.#count * fraction)
        return Math.min(this.#max, 2 ** ((index + 1) / PER_DOUBLING) / 1_000)
    }
    return 0
  }
}
