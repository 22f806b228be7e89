/** Four buckets to each doubling, from a microsecond to about an hour: a percentile is right to within 19 %. */
const PER_DOUBLING = 4
const BUCKETS = 32 * PER_DOUBLING
const SECONDS = 5

export type WindowedLatency = {
  readonly count: number
  readonly average: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** Milliseconds recorded in the last five seconds: a ring of one histogram a second, of constant size. */
export class LatencyWindow {
  readonly #counts = new Uint32Array(SECONDS * BUCKETS)
  readonly #sums = new Float64Array(SECONDS)
  readonly #clock: () => number
  #second: number

  /** `clock`: monotonic, in milliseconds. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
    this.#second = Math.floor(clock() / 1_000)
  }

  record(ms: number): void {
    this.#advance()
    const slot = this.#second % SECONDS
    const bucket = Math.min(BUCKETS - 1, Math.floor(Math.log2(Math.max(ms * 1_000, 1)) * PER_DOUBLING))
    const index = slot * BUCKETS + bucket
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
    this.#sums[slot] = (this.#sums[slot] ?? 0) + ms
  }

  snapshot(): WindowedLatency {
    this.#advance()
    const merged = Array.from({ length: BUCKETS }, (_, bucket) => this.#inBucket(bucket))
    const count = merged.reduce((total, each) => total + each, 0)
    const sum = this.#sums.reduce((total, each) => total + each, 0)
    const percentile = (fraction: number): number => percentileOf(merged, count * fraction)
    return {
      count,
      average: count === 0 ? 0 : sum / count,
      p50: percentile(0.5),
      p95: percentile(0.95),
      p99: percentile(0.99),
    }
  }

  #inBucket(bucket: number): number {
    let count = 0
    for (let slot = 0; slot < SECONDS; slot++) count += this.#counts[slot * BUCKETS + bucket] ?? 0
    return count
  }

  /** Empties the slots of the seconds that have passed. */
  #advance(): void {
    const now = Math.floor(this.#clock() / 1_000)
    const passed = Math.min(SECONDS, now - this.#second)
    for (let step = 1; step <= passed; step++) {
      const slot = (this.#second + step) % SECONDS
      this.#counts.fill(0, slot * BUCKETS, (slot + 1) * BUCKETS)
      this.#sums[slot] = 0
    }
    this.#second = now
  }
}

/** The upper edge of the bucket, so that a percentile is never flattered. */
function percentileOf(counts: readonly number[], rank: number): number {
  let seen = 0
  for (const [bucket, count] of counts.entries()) {
    seen += count
    if (count > 0 && seen >= rank) return 2 ** ((bucket + 1) / PER_DOUBLING) / 1_000
  }
  return 0
}
