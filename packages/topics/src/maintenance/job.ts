/**
 * Work that one process does now and then for all. Any process may be killed during it: the next run does what is left.
 */
export type Job = {
  readonly name: JobName
  readonly everyMs: number
  /** It removes or ends what is old, so a process whose clock is far off must not run it. */
  readonly goesByAge: boolean
  /** Returns what it has done, by name. */
  run(context: JobContext): Promise<Record<string, number>>
}

export type JobContext = {
  /** Call it between steps: keeps the job's lock, or rejects if another process has taken it over. */
  renew(): Promise<void>
  /** Aborts when the Tidemark closes: end after the current step. */
  readonly signal: AbortSignal
}

export const JOB_NAMES = ['dead-groups', 'messages', 'subscriptions', 'backfills'] as const

/** Name of a maintenance job. */
export type JobName = (typeof JOB_NAMES)[number]
/** Result of a job: counts by name. */
export type JobResult = Readonly<Record<string, number>>
