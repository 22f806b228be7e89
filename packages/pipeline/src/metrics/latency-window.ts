import { Ring } from './ring.ts'

/** Four buckets per doubling, from a microsecond to about an hour: a percentile is accurate to 19 %. */
const PER_DOUBLING = 4
const BUCKETS = 32 * PER_DOUBLING
/** The window advances in steps of a fifth. */
const SLOTS = 5
const DEFAULT_WINDOW_MS = 5_000

/** Distribution of a duration in milliseconds, over the last seconds. */
export type WindowedLatency = {
  /** Number of measurements. */
  readonly count: number
  /** Average. */
  readonly average: number
  /** Median. */
  readonly p50: number
  /** 95th percentile. */
  readonly p95: number
  /** 99th percentile. */
  readonly p99: number
}

export type WindowOptions = {
  /** Default 5000. */
  readonly windowMs?: number
  /** Monotonic, in milliseconds. */
  readonly clock?: () => number
}

/** Recent durations in milliseconds: a ring of five histograms, of constant size however long the window is. */
export class LatencyWindow {
  readonly #counts = new Uint32Array(SLOTS * BUCKETS)
  readonly #sums = new Float64Array(SLOTS)
  readonly #ring: Ring

  constructor({ windowMs = DEFAULT_WINDOW_MS, clock }: WindowOptions = {}) {
    this.#ring = new Ring({ slots: SLOTS, slotMs: windowMs / SLOTS, clock })
  }

  record(ms: number): void {
    this.#advance()
    const { slot } = this.#ring
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
    for (let slot = 0; slot < SLOTS; slot++) count += this.#counts[slot * BUCKETS + bucket] ?? 0
    return count
  }

  #advance(): void {
    this.#ring.advance(slot => {
      this.#counts.fill(0, slot * BUCKETS, (slot + 1) * BUCKETS)
      this.#sums[slot] = 0
    })
  }
}

/** The upper edge of the bucket, so that a percentile is never too low. */
function percentileOf(counts: readonly number[], rank: number): number {
  let seen = 0
  for (const [bucket, count] of counts.entries()) {
    seen += count
    if (count > 0 && seen >= rank) return 2 ** ((bucket + 1) / PER_DOUBLING) / 1_000
  }
  return 0
}
