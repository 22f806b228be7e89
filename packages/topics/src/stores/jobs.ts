/** Locks of the maintenance jobs: each runs in one process at a time. */
export type Jobs = {
  /** True where this process may run the job now: nobody holds it and, given `everyMs`, its last start is that long ago. */
  lock(name: string, lock: JobLock): Promise<boolean>
  /** Keeps the lock; false where it was lost. */
  renew(name: string, lock: JobLock): Promise<boolean>
  unlock(name: string, token: string, result: unknown): Promise<void>
  list(): Promise<JobRecord[]>
}

export type JobLock = { readonly token: string; readonly ttlMs: number; readonly everyMs?: number }

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
