/**
 * Remembers what was processed, so that a redelivery can be skipped without reading it. It only saves work: what is
 * forgotten is processed again, so mark after the ack and never before.
 */
export type IdempotencyTracker = {
  /** `scope`: who processed it, e.g. the indexer's name. */
  isProcessed(scope: string, key: string): Promise<boolean>
  /** True where this call marked it; false where it was marked already. Of any number at once, one gets true. */
  markProcessed(scope: string, key: string): Promise<boolean>
  /** Forgets what was marked longer ago than this; gives how many. */
  prune(olderThanMs: number): Promise<number>
}
