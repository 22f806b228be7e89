import type { IdempotencyTracker } from '../../../trackers/idempotency-tracker.ts'

/** Saves reading what was indexed before. That the index stays the same is the upserts' doing, not this one's. */
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

  /** After the ack only: marked before it, a batch whose flush is undone would never be read again. */
  async markIndexed(key: string): Promise<void> {
    await this.#tracker.markProcessed(this.#indexer, key)
  }
}
