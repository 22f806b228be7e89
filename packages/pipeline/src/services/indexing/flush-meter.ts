import { LatencyWindow } from '../../metrics/latency-window.ts'
import { RateWindow } from '../../metrics/rate-window.ts'

/** Write throughput of one indexer. Recording and reading take constant time. */
export class FlushMeter {
  readonly #ticks: RateWindow
  readonly #flushes: RateWindow
  readonly #latency: LatencyWindow

  constructor(windowMs: number) {
    this.#ticks = new RateWindow({ windowMs })
    this.#flushes = new RateWindow({ windowMs })
    this.#latency = new LatencyWindow({ windowMs })
  }

  /** One flush, from the beginning of its transaction to the commit. */
  record(ticks: number, ms: number): void {
    this.#ticks.add(ticks)
    this.#flushes.add(1)
    this.#latency.record(ms)
  }

  snapshot(): { readonly [name: string]: number } {
    const { average, p50, p95, p99 } = this.#latency.snapshot()
    return {
      ticksPerSecond: this.#ticks.perSecond(),
      flushesPerSecond: this.#flushes.perSecond(),
      flushMsAverage: average,
      flushMsP50: p50,
      flushMsP95: p95,
      flushMsP99: p99,
    }
  }
}
