/** Work that is done now and then, by one process at a time. */
export type Job = {
  readonly name: string
  readonly everyMs: number
  /** Resolves with what it has done, in numbers. It may be killed anywhere: the next run goes on. */
  run(context: JobContext): Promise<Record<string, number>>
}

export type JobContext = {
  /** Keeps the job's lock; rejects where it was lost. */
  renew(): Promise<void>
  /** Aborts when the process closes. */
  readonly signal: AbortSignal
}
