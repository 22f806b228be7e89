import type { BackfillPlan } from '../stores/backfills.ts'

const FIRST_BATCH = 1_000
const SMALLEST_BATCH = 100
const PROBES = 20
const GROWTH = 1.5
/** While the live path is too slow, a backfill pauses for this multiple of its last batch's duration. */
const REST = 2

/**
 * Decides the batch size of a backfill and the pause between batches, depending on the load of the live path. A probe
 * runs beside every batch: if the 95th percentile of the last twenty is above the target the batch is halved, otherwise
 * it grows.
 */
export class BackfillThrottle {
  readonly #plan: Pick<BackfillPlan, 'batchSize' | 'maxPerSecond' | 'targetMs'>
  #batch: number
  #probes: number[] = []
  /** Batch size from which it had to slow down; 0 once it is back there. */
  #slowedFrom = 0

  constructor(plan: Pick<BackfillPlan, 'batchSize' | 'maxPerSecond' | 'targetMs'>) {
    this.#plan = plan
    this.#batch = Math.min(plan.batchSize, FIRST_BATCH)
  }

  get batch(): number {
    return Math.min(this.#batch, Math.max(1, this.#plan.maxPerSecond))
  }

  /** Whether batches are smaller than they were, because of the live path. */
  get isSlowed(): boolean {
    return this.#slowedFrom > 0
  }

  /** Milliseconds to wait after a batch of this many messages. */
  next({ messages, batchMs, probeMs }: { messages: number; batchMs: number; probeMs: number }): number {
    this.#probes = [...this.#probes.slice(1 - PROBES), probeMs]
    const atRateMs = (messages / this.#plan.maxPerSecond) * 1_000 - batchMs
    if (percentile95(this.#probes) <= this.#plan.targetMs) {
      this.#batch = Math.min(this.#plan.batchSize, Math.ceil(this.#batch * GROWTH))
      if (this.#batch >= this.#slowedFrom) this.#slowedFrom = 0
      return Math.max(0, atRateMs)
    }
    this.#slowedFrom = Math.max(this.#slowedFrom, this.#batch)
    this.#batch = Math.min(this.#plan.batchSize, Math.max(SMALLEST_BATCH, Math.floor(this.#batch / 2)))
    // Measurements of the larger batch say nothing about the smaller one.
    this.#probes = []
    return Math.max(atRateMs, batchMs * REST)
  }
}

function percentile95(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0
}
