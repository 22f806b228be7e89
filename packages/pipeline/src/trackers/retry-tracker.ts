/** Failed attempts of a batch. */
export type RetryState = {
  /** Number of failed attempts. */
  readonly count: number
  /** Time of the first failure in milliseconds since 1970, by the tracker's clock. */
  readonly firstAt: number
  /** Time of the last failure, likewise. */
  readonly lastAt: number
  /** Whether it was dead-lettered. */
  readonly isDeadLettered: boolean
}

/** Counts failed attempts over all competing consumers, so that a poison message is found no matter who processes it. */
export type RetryTracker = {
  /** Counts a failed attempt and returns their number. */
  increment(scope: string, key: string): Promise<number>
  /** Failed attempts of a key, or null if there are none since the last reset. */
  state(scope: string, key: string): Promise<RetryState | null>
  /** Returns true for one caller only, which writes the dead letter. */
  markDeadLettered(scope: string, key: string): Promise<boolean>
  /** Forgets the failures after a success. */
  reset(scope: string, key: string): Promise<void>
  /** Removes entries whose last failure is older than this and returns their number. */
  prune(olderThanMs: number): Promise<number>
}
