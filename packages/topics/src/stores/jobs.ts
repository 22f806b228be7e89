/** Locks of the maintenance jobs: each runs in one process at a time. */
export type Jobs = {
  /**
   * Returns true if this process may run the job now: no other process holds it and, with `everyMs`, its last start is
   * that long ago.
   */
  lock(name: string, lock: JobLock): Promise<boolean>
  /** Renews the lock. Returns false if it was lost. */
  renew(name: string, lock: JobLock): Promise<boolean>
  /** Releases the lock and stores the result of the run. */
  unlock(name: string, token: string, result: unknown): Promise<void>
  /** Lists all jobs. */
  list(): Promise<JobRecord[]>
}

/** Lock of a job. */
export type JobLock = {
  /** Token of the process. */
  readonly token: string
  /** Milliseconds after which another process may take the lock. */
  readonly ttlMs: number
  /** Minimum milliseconds between two starts. */
  readonly everyMs?: number
}

/** State of a maintenance job in the database. */
export type JobRecord = {
  /** Name of the job. */
  readonly name: string
  /** Whether it is running now. */
  readonly running: boolean
  /** Start of the last run, or null. */
  readonly startedAt: number | null
  /** End of the last run, or null. */
  readonly finishedAt: number | null
  /** Number of runs. */
  readonly runs: number
  /** Result of the last run: counts by name. */
  readonly result: unknown
  /** End of the last run without an error, or null. */
  readonly succeededAt: number | null
  /** Duration of the last run in milliseconds. */
  readonly tookMs: number | null
}
