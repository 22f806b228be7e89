/** Eight buckets per doubling: a percentile is accurate to about 9 %. */
const PER_DOUBLING = 8
/** From a microsecond to about an hour. */
const BUCKETS = 32 * PER_DOUBLING

/** Distribution of a duration in milliseconds. */
export type Percentiles = {
  /** Number of measurements. */
  readonly count: number
  /** Median. */
  readonly p50: number
  /** 95th percentile. */
  readonly p95: number
  /** 99th percentile. */
  readonly p99: number
  /** Maximum. */
  readonly max: number
}

/** Non-empty buckets of a histogram, small enough to be stored. */
export type SparseHistogram = {
  /** Maximum. */
  readonly max: number
  /** Index and count of each non-empty bucket, alternating. */
  readonly buckets: readonly number[]
}

const EMPTY: Percentiles = { count: 0, p50: 0, p95: 0, p99: 0, max: 0 }

/** Latencies in milliseconds, recorded in O(1) into logarithmic buckets. */
export class Histogram {
  readonly #buckets = new Float64Array(BUCKETS)
  #count = 0
  #max = 0
  /** The last `snapshot`, until something is recorded. */
  #snapshot: Percentiles | undefined = EMPTY

  /** `times`: number of durations that this measurement stands for. */
  record(ms: number, times = 1): void {
    const index = Math.floor(Math.log2(Math.max(ms * 1_000, 1)) * PER_DOUBLING)
    this.#add(Math.min(BUCKETS - 1, index), times)
    if (ms > this.#max) this.#max = ms
  }

  /** Adds the counts of another histogram. */
  merge({ max, buckets }: SparseHistogram): void {
    for (let at = 0; at < buckets.length; at += 2) this.#add(buckets[at] ?? 0, buckets[at + 1] ?? 0)
    this.#max = Math.max(this.#max, max)
  }

  sparse(): SparseHistogram {
    const buckets: number[] = []
    for (let index = 0; index < BUCKETS; index++) {
      const count = this.#buckets[index] ?? 0
      if (count > 0) buckets.push(index, count)
    }
    return { max: this.#max, buckets }
  }

  snapshot(): Percentiles {
    this.#snapshot ??= this.#percentiles()
    return this.#snapshot
  }

  #add(index: number, count: number): void {
    this.#buckets[index] = (this.#buckets[index] ?? 0) + count
    this.#count += count
    this.#snapshot = undefined
  }

  #percentiles(): Percentiles {
    const wanted = [0.5, 0.95, 0.99].map(fraction => this.#count * fraction)
    const found: number[] = []
    let seen = 0
    for (let index = 0; index < BUCKETS && found.length < wanted.length; index++) {
      const count = this.#buckets[index] ?? 0
      if (count === 0) continue
      seen += count
      // The upper edge of the bucket, so that a percentile is never too low.
      const edge = Math.min(this.#max, 2 ** ((index + 1) / PER_DOUBLING) / 1_000)
      while (found.length < wanted.length && seen >= (wanted[found.length] ?? 0)) found.push(edge)
    }
    const [p50 = 0, p95 = 0, p99 = 0] = found
    return { count: this.#count, p50, p95, p99, max: this.#max }
  }
}
