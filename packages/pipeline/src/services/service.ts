import type { Logger } from 'tidemark'

export type ServiceState = 'STOPPED' | 'RUNNING' | 'PAUSED' | 'ERROR'

/** What went wrong, for people: the newest few are kept. */
export type ServiceError = { readonly at: Date; readonly action: string; readonly error: Error }

export type ServiceStatus = {
  readonly name: string
  readonly state: ServiceState
  /** False in ERROR, and where the service itself says so. */
  readonly healthy: boolean
  readonly startedAt: Date | null
  /** Read in constant time. */
  readonly metrics: Readonly<Record<string, number>>
  readonly errors: readonly ServiceError[]
}

/** What a listener of a service hears of: each change of its state, each failure. */
export type ServiceEvent =
  | { readonly type: 'state'; readonly service: string; readonly state: ServiceState; readonly before: ServiceState }
  | { readonly type: 'error'; readonly service: string; readonly action: string; readonly error: Error }

export type ServiceListener = (event: ServiceEvent) => void

export type ServiceContext = {
  /** Aborts when the service is to stop: finish what must be finished, and return. */
  readonly signal: AbortSignal
  /** Resolves at once, or when a pause is over (or the service stops). To be awaited between two steps. */
  unpaused(): Promise<void>
  /** Something failed and the service goes on. */
  report(action: string, error: unknown): void
}

const KEPT_ERRORS = 20
const DEFAULT_STOP_MS = 30_000

/**
 * A part of the pipeline that runs until it is stopped.
 *
 *     STOPPED ──start──▶ RUNNING ⇄ PAUSED          RUNNING ──run() returns──▶ STOPPED
 *        ▲                  │        │             RUNNING ──run() throws───▶ ERROR ──start──▶ RUNNING
 *        └──────stop────────┴────────┘
 *
 * Starting what runs, and stopping what is stopped, is fine.
 */
export abstract class Service implements AsyncDisposable {
  readonly name: string
  protected readonly logger: Logger
  #state: ServiceState = 'STOPPED'
  #startedAt: Date | null = null
  #errors: ServiceError[] = []
  #stopping = new AbortController()
  #starting: Promise<void> | undefined
  #running: Promise<void> = Promise.resolve()
  #pause: PromiseWithResolvers<void> | undefined
  readonly #listeners = new Set<ServiceListener>()

  constructor(name: string, logger: Logger) {
    this.name = name
    this.logger = logger
  }

  /** Before `run`: what must work for the service to start at all. Rejecting here rejects start(). */
  protected async prepare(): Promise<void> {}

  /** The work itself, until the signal aborts or there is no more. */
  protected abstract run(context: ServiceContext): Promise<void>

  /** After `run`, however it ended. */
  protected async release(): Promise<void> {}

  protected metrics(): Record<string, number> {
    return {}
  }

  protected isHealthy(): boolean {
    return true
  }

  get state(): ServiceState {
    return this.#state
  }

  status(): ServiceStatus {
    return {
      name: this.name,
      state: this.#state,
      healthy: this.#state !== 'ERROR' && this.isHealthy(),
      startedAt: this.#startedAt,
      metrics: this.metrics(),
      errors: this.#errors,
    }
  }

  /** The returned function ends the listening. */
  listen(listener: ServiceListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Two calls at the same time are one start. */
  async start(): Promise<void> {
    if (this.#state === 'RUNNING' || this.#state === 'PAUSED') return
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined
    })
    await this.#starting
  }

  /** Resolves when it has stopped, or when the time is up; a run() that hangs is left behind, in ERROR. */
  async stop({ timeoutMs = DEFAULT_STOP_MS }: { timeoutMs?: number } = {}): Promise<void> {
    this.#stopping.abort()
    this.#unpause()
    const timer = Promise.withResolvers<'late'>()
    const timeout = setTimeout(() => timer.resolve('late'), timeoutMs)
    const ended = await Promise.race([this.#settled(), timer.promise])
    clearTimeout(timeout)
    if (ended === 'late') this.#fail('stop', new Error(`It did not stop within ${timeoutMs} ms`))
  }

  pause(): void {
    if (this.#state !== 'RUNNING') return
    this.#pause = Promise.withResolvers<void>()
    this.#enter('PAUSED')
  }

  resume(): void {
    if (this.#state !== 'PAUSED') return
    this.#unpause()
    this.#enter('RUNNING')
  }

  /** Resolves when run() has ended by itself or was stopped. */
  async ended(): Promise<void> {
    await this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #start(): Promise<void> {
    // At once, so that a stop from now on is one of this start.
    this.#stopping = new AbortController()
    await this.#running
    try {
      await this.prepare()
    } catch (error) {
      this.#fail('start', error)
      throw error
    }
    this.#startedAt = new Date()
    this.#enter('RUNNING')
    this.logger.info({ service: this.name }, 'service started')
    this.#running = this.#work(this.#stopping.signal)
  }

  /** A stop that comes while it starts waits for that too: the run it begins sees the signal at once. */
  async #settled(): Promise<void> {
    await this.#starting?.catch(() => undefined) // start() itself rejects with it.
    await this.#running
  }

  async #work(signal: AbortSignal): Promise<void> {
    try {
      await this.run({
        signal,
        unpaused: async () => await this.#pause?.promise,
        report: (action, error) => this.#note(action, error),
      })
      this.#enter('STOPPED')
      this.logger.info({ service: this.name }, 'service stopped')
    } catch (error) {
      this.#fail('run', error)
    } finally {
      this.#unpause()
      await this.release().catch(error => this.#note('release', error))
    }
  }

  #unpause(): void {
    this.#pause?.resolve()
    this.#pause = undefined
  }

  #fail(action: string, error: unknown): void {
    this.#note(action, error)
    this.#enter('ERROR')
  }

  #enter(state: ServiceState): void {
    const before = this.#state
    this.#state = state
    if (before !== state) this.#tell({ type: 'state', service: this.name, state, before })
  }

  #note(action: string, cause: unknown): void {
    const error = cause instanceof Error ? cause : new Error(String(cause))
    this.#errors = [...this.#errors, { at: new Date(), action, error }].slice(-KEPT_ERRORS)
    this.logger.warn({ service: this.name, action, err: error }, 'a service reports a failure')
    this.#tell({ type: 'error', service: this.name, action, error })
  }

  /** A listener that throws must not change what the service does. */
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
