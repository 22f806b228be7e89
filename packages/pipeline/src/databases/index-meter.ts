import { LatencyWindow } from '../metrics/latency-window.ts'

/** Figures of an open index by name. */
export type IndexMetrics = { readonly [name: string]: number }

/** Window of latencies: within a few seconds there may be no flush. */
const WINDOW_MS = 60_000

/** Statements of one open index, their latency and failures. */
export class IndexMeter {
  readonly #counts = { indexReads: 0, indexReadsFailed: 0, indexTransactions: 0, indexTransactionsFailed: 0 }
  readonly #reads = new LatencyWindow({ windowMs: WINDOW_MS })
  readonly #transactions = new LatencyWindow({ windowMs: WINDOW_MS })

  async read<T>(work: () => Promise<T>): Promise<T> {
    return await this.#time(work, this.#reads, 'indexReads', 'indexReadsFailed')
  }

  async transaction<T>(work: () => Promise<T>): Promise<T> {
    return await this.#time(work, this.#transactions, 'indexTransactions', 'indexTransactionsFailed')
  }

  snapshot(): IndexMetrics {
    const [reads, transactions] = [this.#reads.snapshot(), this.#transactions.snapshot()]
    return {
      ...this.#counts,
      indexReadMsP50: reads.p50,
      indexReadMsP95: reads.p95,
      indexTransactionMsP50: transactions.p50,
      indexTransactionMsP95: transactions.p95,
    }
  }

  async #time<T>(
    work: () => Promise<T>,
    window: LatencyWindow,
    counted: 'indexReads' | 'indexTransactions',
    failed: 'indexReadsFailed' | 'indexTransactionsFailed',
  ): Promise<T> {
    const started = performance.now()
    try {
      const result = await work()
      window.record(performance.now() - started)
      this.#counts[counted]++
      return result
    } catch (error) {
      this.#counts[failed]++
      throw error
    }
  }
}
