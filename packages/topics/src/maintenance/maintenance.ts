import { randomUUID } from 'node:crypto'
import { describeFailure, toError } from '../errors/failure.ts'
import { ClosedError, JobBusyError } from '../errors.ts'
import type { Instrumentation } from '../observe/instrumentation.ts'
import type { Store } from '../stores/store.ts'
import type { ClockWatch } from './clock-watch.ts'
import type { Job, JobContext, JobName, JobResult } from './job.ts'

/** A process that is killed or stopped during a job blocks it for as long as the job's interval, within these bounds. */
const SHORTEST_LOCK_MS = 5_000
const LONGEST_LOCK_MS = 60_000
const RENEWALS = 4
/** Fraction of the interval after which a run may start again, so that jitter does not make it skip a turn. */
const EARLY = 0.7
const LONGEST_TIMER_MS = 0x7fff_ffff

/**
 * Runs the jobs, each at its own interval. All processes try; the one that gets the job's lock in the database does the
 * work for all, unless another did so within the interval.
 */
export class Maintenance {
  readonly #store: Store
  readonly #instrumentation: Instrumentation
  readonly #clock: ClockWatch
  readonly #jobs: ReadonlyMap<JobName, Job>
  readonly #timers = new Map<JobName, NodeJS.Timeout>()
  readonly #running = new Set<Promise<unknown>>()
  readonly #stopping = new AbortController()
  readonly #lockMsOf: (job: Job) => number

  constructor(
    store: Store,
    instrumentation: Instrumentation,
    clock: ClockWatch,
    jobs: readonly Job[],
    lockMs = lockMsOf,
  ) {
    this.#store = store
    this.#clock = clock
    this.#lockMsOf = lockMs
    this.#instrumentation = instrumentation
    this.#jobs = new Map(jobs.map(job => [job.name, job]))
  }

  /** The first run comes after a whole interval: a starting process has more urgent work. */
  start(): void {
    for (const job of this.#jobs.values()) this.#schedule(job)
  }

  /** Runs now, whenever it last ran; rejects with JobBusyError if another process is running it. */
  async runOnce(name: JobName): Promise<JobResult> {
    const job = this.#jobs.get(name)
    if (job === undefined || this.#stopping.signal.aborted) throw new ClosedError(`The job '${name}'`)
    const result = await this.#track(this.#run(job))
    if (result === undefined) throw new JobBusyError(name)
    return result
  }

  /** Waits for the current step. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const timer of this.#timers.values()) clearTimeout(timer)
    await Promise.allSettled(this.#running)
  }

  #schedule(job: Job): void {
    if (this.#stopping.signal.aborted) return
    const inMs = job.everyMs * (0.9 + 0.2 * Math.random())
    const timer = setTimeout(
      () => {
        // Failures were reported; the next turn tries again.
        this.#track(this.#run(job, job.everyMs * EARLY))
          .catch(() => undefined)
          .finally(() => this.#schedule(job))
      },
      Math.min(LONGEST_TIMER_MS, inMs),
    )
    timer.unref()
    this.#timers.set(job.name, timer)
  }

  /** undefined: another process runs it, or has done so recently. */
  async #run(job: Job, everyMs?: number): Promise<JobResult | undefined> {
    const token = randomUUID()
    const started = performance.now()
    const lock = { token, ttlMs: this.#lockMsOf(job), ...(everyMs !== undefined && { everyMs }) }
    try {
      // Checked before the lock: another process, whose clock is right, may do the work.
      const refusal = job.goesByAge ? await this.#clock.refusal() : undefined
      // Reported once by the clock's event, not at every turn.
      if (refusal && everyMs !== undefined) return undefined
      if (refusal) throw refusal
      if (!(await this.#store.jobs.lock(job.name, lock))) return undefined
    } catch (error) {
      this.#report(job, started, {}, error)
      throw error
    }
    const renew = this.#renewalOf(job, token)
    // A step may take longer than the lock; a lost lock is noticed at the end of the step.
    const timer = setInterval(() => void renew().catch(() => undefined), this.#lockMsOf(job) / RENEWALS)
    timer.unref()
    try {
      const result = await job.run({ renew, signal: this.#stopping.signal })
      await this.#store.jobs.unlock(job.name, token, result)
      this.#report(job, started, result)
      return result
    } catch (error) {
      const { name, message } = describeFailure(error)
      // If even that fails, the lock expires.
      await this.#store.jobs.unlock(job.name, token, { error: `${name}: ${message}` }).catch(() => undefined)
      this.#report(job, started, {}, error)
      throw error
    } finally {
      clearInterval(timer)
    }
  }

  #renewalOf(job: Job, token: string): JobContext['renew'] {
    const ttlMs = this.#lockMsOf(job)
    let renewedAt = performance.now()
    return async () => {
      const now = performance.now()
      if (now - renewedAt < (ttlMs / RENEWALS) * EARLY) return
      if (!(await this.#store.jobs.renew(job.name, { token, ttlMs }))) throw new JobBusyError(job.name)
      renewedAt = now
    }
  }

  #report({ name }: Job, started: number, result: JobResult, cause?: unknown): void {
    const error = cause === undefined ? undefined : toError(cause)
    const ms = performance.now() - started
    this.#instrumentation.emit('job-ended', { job: name, ms, result, ...(error && { error }) })
  }

  async #track<T>(running: Promise<T>): Promise<T> {
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }
}

const lockMsOf = ({ everyMs }: Job): number => Math.min(Math.max(everyMs, SHORTEST_LOCK_MS), LONGEST_LOCK_MS)
