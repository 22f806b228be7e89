export type RetryState = {
  readonly count: number
  /** Unix times in milliseconds, by the tracker's own clock. */
  readonly firstAt: number
  readonly lastAt: number
  readonly isDeadLettered: boolean
}

/** Counts failed attempts over all competing consumers, so that a poison message is found whoever gets it. */
export type RetryTracker = {
  /** The count with this one. */
  increment(scope: string, key: string): Promise<number>
  /** null: none failed, or reset since. */
  state(scope: string, key: string): Promise<RetryState | null>
  /** True for one caller only, who is the one to write the dead letter. */
  markDeadLettered(scope: string, key: string): Promise<boolean>
  /** After a success, so that old failures don't count against the next. */
  reset(scope: string, key: string): Promise<void>
  /** Forgets what failed last longer ago than this; gives how many. */
  prune(olderThanMs: number): Promise<number>
}
