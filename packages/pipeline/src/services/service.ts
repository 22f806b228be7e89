import type { Logger } from 'tidemark'
import { retryDelayMs } from '../backoff.ts'
import { isEnvironmentFault, isGone, whatIsAway } from '../faults.ts'
import type { BindingStatus } from '../resources/binding-meter.ts'
import { NoSpeedError } from './errors.ts'
import { Health } from './health.ts'
import type { ServiceContext } from './service-context.ts'
import type {
  ServiceEvent,
  ServiceListener,
  ServiceSpeed,
  ServiceState,
  ServiceStatus,
  StepReport,
} from './service-status.ts'
import { pauseFor, untilAborted } from './until-aborted.ts'

export type { ServiceError } from './health.ts'
export type { ServiceContext } from './service-context.ts'
export type * from './service-status.ts'

const DEFAULT_STOP_MS = 30_000

/**
 * A part of the pipeline that runs until it is stopped.
 *
 *     STOPPED ──start──▶ STARTING ──▶ RUNNING ⇄ PAUSED     RUNNING ──run() returns──▶ STOPPED
 *        ▲                  │ ▲         │ ▲                RUNNING ──run() throws───▶ ERROR ──start──▶ STARTING
 *        └──────stop────────┴─┼─────────┤ │
 *        what it needs is unavailable,  ▼ │
 *        and becomes available        WAITING
 *
 * A service whose environment is unavailable stays STARTING, shows what it waits for, and continues by itself. Starting a
 * running service and stopping a stopped one does nothing.
 */
export abstract class Service implements AsyncDisposable {
  /** Name of the service. */
  readonly name: string
  /** Logger. */
  protected readonly logger: Logger
  readonly #health = new Health()
  #phase: 'STOPPED' | 'STARTING' | 'RUNNING' | 'ERROR' = 'STOPPED'
  #startedAt: Date | null = null
  #stopping = new AbortController()
  #starting: Promise<void> | undefined
  #running: Promise<void> = Promise.resolve()
  /** A prepare() in progress when the service was stopped. */
  #leftBehind: Promise<void> = Promise.resolve()
  #pause: PromiseWithResolvers<void> | undefined
  readonly #waits = new Set<{ readonly what: string }>()
  /** What holds it back from outside. */
  #heldFor: string | null = null
  readonly #listeners = new Set<ServiceListener>()
  #bindings: () => readonly BindingStatus[] = () => []

  constructor(name: string, logger: Logger) {
    this.name = name
    this.logger = logger
  }

  /**
   * Runs before `run`: what must work before the service can start. Called again while the environment is unavailable;
   * any other error rejects start().
   */
  protected async prepare(): Promise<void> {}

  /** The work of the service, until the signal aborts or there is no more to do. */
  protected abstract run(context: ServiceContext): Promise<void>

  /** Runs after `run`, however it ended, and after a `prepare` that was interrupted by a stop. */
  protected async release(): Promise<void> {}

  /** Figures of the service, from memory. */
  protected metrics(): Record<string, number> {
    return {}
  }

  /** Whether the service works, for checks of its own. */
  protected isHealthy(): boolean {
    return true
  }

  /** Speed of the service; null: it has none. */
  protected get speed(): ServiceSpeed | null {
    return null
  }

  /** Sets the maximum ticks per second of a simulation; null: unlimited. Rejects with `NoSpeedError` for others. */
  async setSpeed(_ticksPerSecond: number | null): Promise<void> {
    throw new NoSpeedError(this.name)
  }

  /** Makes exactly this many ticks of a simulation, which is paused then. Rejects with `NoSpeedError` for others. */
  async step(_ticks: number): Promise<StepReport> {
    throw new NoSpeedError(this.name)
  }

  /** State of the service. */
  get state(): ServiceState {
    if (this.#phase !== 'RUNNING') return this.#phase
    if (this.#pause !== undefined) return 'PAUSED'
    return this.#waits.size > 0 || this.#heldFor !== null ? 'WAITING' : 'RUNNING'
  }

  /** Status of the service. */
  status(): ServiceStatus {
    const { state } = this
    const waits = new Set([...this.#waits].map(({ what }) => what))
    if (this.#heldFor !== null && this.#phase === 'RUNNING') waits.add(this.#heldFor)
    return {
      name: this.name,
      state,
      healthy: state !== 'ERROR' && this.#health.healthy && this.isHealthy(),
      waitingFor: waits.size === 0 ? null : [...waits].join(', and '),
      startedAt: this.#startedAt,
      metrics: this.metrics(),
      bindings: this.#bindings(),
      speed: this.speed,
      errors: this.#health.errors,
    }
  }

  /** Sets the function that returns the traffic of its bindings. */
  monitor(bindings: () => readonly BindingStatus[]): void {
    this.#bindings = bindings
  }

  /** Clears reported errors. What still fails is reported again. */
  clearErrors(): void {
    this.#health.clear()
  }

  /** Calls a listener with every event. The returned function removes it. */
  listen(listener: ServiceListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Resolves when the service runs or waits for its environment (STARTING, `waitingFor`). Rejects if it can't start.
   * Concurrent calls are one start.
   */
  async start(): Promise<void> {
    if (this.#phase === 'RUNNING') return
    if (this.#phase === 'STARTING' && this.#starting === undefined && !this.#stopping.signal.aborted) return
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined
    })
    await this.#starting
  }

  /** Resolves when the service has stopped, or at the timeout; a run() that hangs is then abandoned, in ERROR. */
  async stop({ timeoutMs = DEFAULT_STOP_MS }: { timeoutMs?: number } = {}): Promise<void> {
    this.#stopping.abort()
    this.#unpause()
    const timer = Promise.withResolvers<'late'>()
    const timeout = setTimeout(() => timer.resolve('late'), timeoutMs)
    const ended = await Promise.race([this.#settled(), timer.promise])
    clearTimeout(timeout)
    if (ended === 'late') this.#fail('stop', new Error(`It did not stop within ${timeoutMs} ms`))
  }

  /** Pauses the service. */
  pause(): void {
    if (this.state !== 'RUNNING' && this.state !== 'WAITING') return
    this.#changing(() => {
      this.#pause = Promise.withResolvers<void>()
    })
  }

  /** Resumes the service. */
  resume(): void {
    if (this.state === 'PAUSED') this.#unpause()
  }

  /** Sets what holds the service back, as shown in its status; null: nothing. It does not stop the service. */
  heldFor(what: string | null): void {
    this.#changing(() => {
      this.#heldFor = what
    })
  }

  /** Resolves when run() has ended. */
  async ended(): Promise<void> {
    await this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #start(): Promise<void> {
    // At once, so that a stop from now on belongs to this start.
    this.#stopping = new AbortController()
    const { signal } = this.#stopping
    await this.#running
    await this.#leftBehind
    this.clearErrors()
    this.#enter('STARTING')
    try {
      const isPrepared = await this.#prepare(signal)
      this.#running = isPrepared ? this.#work(signal) : this.#overtaken()
    } catch (error) {
      if (isEnvironmentFault(error)) {
        this.#running = this.#startLater(signal, error)
        return
      }
      this.#fail('start', error)
      throw error
    }
  }

  /** Its environment is not available yet. */
  async #startLater(signal: AbortSignal, first: unknown): Promise<void> {
    let error = first
    for (let failures = 0; ; failures++) {
      this.#note('start', error)
      {
        using _waiting = this.#waiting(whatIsAway(error))
        await pauseFor(retryDelayMs(failures), signal)
      }
      try {
        return (await this.#prepare(signal)) ? await this.#work(signal) : await this.#overtaken()
      } catch (cause) {
        if (!isEnvironmentFault(cause)) return this.#fail('start', cause)
        error = cause
      }
    }
  }

  /** False if a stop came first. A prepare() that does not answer must not delay it. */
  async #prepare(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    const preparing = this.prepare()
    const isPrepared = await untilAborted(
      preparing.then(() => true),
      signal,
    )
    if (isPrepared) return true
    this.#leftBehind = preparing.then(
      () => this.release().catch(error => this.#note('release', error)),
      () => undefined,
    )
    return false
  }

  async #overtaken(): Promise<void> {
    this.#enter('STOPPED')
  }

  /** A stop during a start waits for the start too: the run it begins sees the signal at once. */
  async #settled(): Promise<void> {
    await this.#starting?.catch(() => undefined) // start() itself rejects with it.
    await this.#running
  }

  async #work(signal: AbortSignal): Promise<void> {
    this.#startedAt = new Date()
    this.#succeeded('start')
    this.#enter('RUNNING')
    this.logger.info({ service: this.name }, 'service started')
    try {
      await this.run(this.#context(signal))
      this.#enter('STOPPED')
      this.logger.info({ service: this.name }, 'service stopped')
    } catch (error) {
      this.#fail('run', error)
    } finally {
      this.#unpause()
      await this.release().catch(error => this.#note('release', error))
    }
  }

  #context(signal: AbortSignal): ServiceContext {
    return {
      signal,
      unpaused: async () => await this.#pause?.promise,
      report: (operation, error, about) => this.#note(operation, error, about),
      succeeded: operation => this.#succeeded(operation),
      note: (action, error) => this.#tellOf(action, toError(error), true),
      watch: (operation, work) => this.#health.watch(operation, work),
      waiting: what => this.#waiting(what),
      through: (operation, work, about) => this.#through(signal, operation, work, about),
    }
  }

  async #through<T>(
    signal: AbortSignal,
    operation: string,
    work: () => Promise<T>,
    about: string | undefined,
  ): Promise<T> {
    for (let failures = 0; ; failures++) {
      try {
        const value = await work()
        this.#succeeded(operation)
        return value
      } catch (error) {
        if (isGone(error)) throw error
        if (!isEnvironmentFault(error)) {
          // Refused, and so answered: what was unavailable is back. The caller handles the refusal.
          this.#succeeded(operation)
          throw error
        }
        this.#note(operation, error, about)
        {
          using _waiting = this.#waiting(whatIsAway(error))
          await pauseFor(retryDelayMs(failures), signal)
        }
        if (signal.aborted) throw error
      }
    }
  }

  #waiting(what: string): Disposable {
    const wait = { what }
    this.#changing(() => this.#waits.add(wait))
    return { [Symbol.dispose]: () => this.#changing(() => this.#waits.delete(wait)) }
  }

  #unpause(): void {
    this.#pause?.resolve()
    this.#changing(() => {
      this.#pause = undefined
    })
  }

  #fail(action: string, error: unknown): void {
    this.#note(action, error)
    this.#enter('ERROR')
  }

  #enter(phase: 'STOPPED' | 'STARTING' | 'RUNNING' | 'ERROR'): void {
    this.#changing(() => {
      this.#phase = phase
    })
  }

  #changing(change: () => unknown): void {
    const before = this.state
    change()
    const { state } = this
    if (before !== state) this.#tell({ type: 'state', service: this.name, state, before })
  }

  #note(operation: string, cause: unknown, about?: string): void {
    const error = toError(cause)
    const action = about === undefined ? operation : `${operation} ${about}`
    this.#tellOf(action, error, this.#health.failed(operation, error, action))
  }

  /** An outage is one log line when it begins and one when it ends, however many attempts there were. */
  #tellOf(action: string, error: Error, isNews: boolean): void {
    const level = isNews ? 'warn' : 'debug'
    this.logger[level]({ service: this.name, action, err: error }, 'a service reports a failure')
    this.#tell({ type: 'error', service: this.name, action, error })
  }

  #succeeded(operation: string): void {
    if (!this.#health.succeeded(operation)) return
    this.logger.info({ service: this.name, action: operation }, 'a service has recovered')
    this.#tell({ type: 'recovered', service: this.name, action: operation })
  }

  /** A listener that throws must not affect the service. */
  #tell(event: ServiceEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch (error) {
        this.logger.error({ service: this.name, err: error }, 'a listener of a service threw')
      }
    }
  }
}

const toError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))
