import { Histogram, type Percentiles } from './histogram.ts'

/** What a consumer of this process has done since it started. */
export type ConsumerMetrics = {
  /** Acknowledged messages. */
  readonly processed: number
  /** Failed attempts. */
  readonly failed: number
  /** Milliseconds from the delivery of a message to the end of its handler, or to its settlement by a reader. */
  readonly handler: Percentiles
  /** Time of the last activity, or null. */
  readonly lastActiveAt: Date | null
}

/** A handler that takes less is quick: not all of those are timed. */
export const QUICK_MS = 1

/** Counts for one consumer, in O(1) per message and mostly without reading the clock. */
export class ConsumerMeter {
  readonly #startedAt = performance.now()
  readonly #group: Histogram
  readonly #handler = new Histogram()
  #processed = 0
  #failed = 0
  /** Handlers that were not timed and are not in the histograms yet, and the duration of a quick one. */
  #untimed = 0
  #quickMs = 0
  #activeAt: number | undefined

  /** `group`: the histogram of the whole group. */
  constructor(group: Histogram) {
    this.#group = group
  }

  /** A message was settled; `ms` if its handler was timed. */
  settled(failed: boolean, ms: number | undefined): void {
    if (failed) this.#failed++
    else this.#processed++
    if (ms === undefined) {
      this.#untimed++
      return
    }
    this.countUntimed()
    this.#record(ms, 1)
    if (ms < QUICK_MS) this.#quickMs = ms
    this.#activeAt = performance.now()
  }

  /** Untimed handlers count as quick, except one if they took long together. */
  countUntimed(togetherMs = 0): void {
    if (this.#untimed === 0) return
    if (togetherMs >= QUICK_MS) {
      this.#record(togetherMs, 1)
      this.#untimed--
    }
    if (this.#untimed > 0) this.#record(this.#quickMs, this.#untimed)
    this.#untimed = 0
    this.#activeAt = performance.now()
  }

  #record(ms: number, times: number): void {
    this.#handler.record(ms, times)
    this.#group.record(ms, times)
  }

  get processed(): number {
    return this.#processed
  }

  get failed(): number {
    return this.#failed
  }

  get handler(): Histogram {
    this.countUntimed()
    return this.#handler
  }

  get ageMs(): number {
    return performance.now() - this.#startedAt
  }

  /** Since the last message; null before the first. */
  get idleMs(): number | null {
    return this.#activeAt === undefined ? null : performance.now() - this.#activeAt
  }

  snapshot(): ConsumerMetrics {
    this.countUntimed()
    const { idleMs } = this
    return {
      processed: this.#processed,
      failed: this.#failed,
      handler: this.#handler.snapshot(),
      lastActiveAt: idleMs === null ? null : new Date(Date.now() - idleMs),
    }
  }
}
