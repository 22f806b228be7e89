/**
 * Records what was processed, so that a redelivered batch can be skipped without reading it. It only saves work:
 * what is forgotten is processed again. Mark after the ack, never before.
 */
export type IdempotencyTracker = {
  /** Whether the key was processed. `scope` is the name of the indexer. */
  isProcessed(scope: string, key: string): Promise<boolean>
  /** Marks the key. Returns true if this call marked it; of concurrent calls, one gets true. */
  markProcessed(scope: string, key: string): Promise<boolean>
  /** Removes entries that are older than this and returns their number. */
  prune(olderThanMs: number): Promise<number>
}
