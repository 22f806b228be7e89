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

/** Counts for one consumer, in O(1) a message and mostly without a look at the clock. */
export class ConsumerMeter {
  readonly #startedAt = performance.now()
  readonly #group: Histogram
  readonly #handler = new Histogram()
  #processed = 0
  #failed = 0
  /** Handlers that ended since the last one that was timed: as quick as that. */
  #untimed = 0
  #activeAt: number | undefined

  /** `group`: where the times of the whole group are kept. */
  constructor(group: Histogram) {
    this.#group = group
  }

  /** A message was settled; `ms` where its handler was timed. */
  settled(failed: boolean, ms: number | undefined): void {
    if (failed) this.#failed++
    else this.#processed++
    if (ms === undefined) {
      this.#untimed++
      return
    }
    this.#handler.record(ms, 1 + this.#untimed)
    this.#group.record(ms, 1 + this.#untimed)
    this.#untimed = 0
    this.#activeAt = performance.now()
  }

  get processed(): number {
    return this.#processed
  }

  get failed(): number {
    return this.#failed
  }

  get handler(): Histogram {
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
    const { idleMs } = this
    return {
      processed: this.#processed,
      failed: this.#failed,
      handler: this.#handler.snapshot(),
      lastActiveAt: idleMs === null ? null : new Date(Date.now() - idleMs),
    }
  }
}
