import type { IdempotencyTracker } from '../../../trackers/idempotency-tracker.ts'

/** Saves reading batches that were indexed before. Correctness comes from the upserts, not from this. */
export class IdempotencyComponent {
  readonly #tracker: IdempotencyTracker
  readonly #indexer: string

  constructor(tracker: IdempotencyTracker, indexer: string) {
    this.#tracker = tracker
    this.#indexer = indexer
  }

  async isIndexed(key: string): Promise<boolean> {
    return await this.#tracker.isProcessed(this.#indexer, key)
  }

  /** Only after the ack: a batch that was marked before, and whose flush is rolled back, would never be read again. */
  async markIndexed(key: string): Promise<void> {
    await this.#tracker.markProcessed(this.#indexer, key)
  }
}
