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

export type JobRecord = {
  readonly name: string
  readonly running: boolean
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly runs: number
  readonly result: unknown
  /** When it last ended without an error, of its own or of one of the topics. */
  readonly succeededAt: number | null
  /** How long its last run took. */
  readonly tookMs: number | null
}
