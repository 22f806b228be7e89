import type { Logger } from 'tidemark'
import { retryDelayMs } from '../backoff.ts'
import { isEnvironmentFault, whatIsAway } from '../faults.ts'
import { ServiceTimeoutError } from './errors.ts'
import { Health } from './health.ts'
import type { Service, ServiceListener, ServiceState, ServiceStatus } from './service.ts'
import { pauseFor } from './until-aborted.ts'

/** A service that is built when it is first started, so that a failure to build it affects no other service. */
export type ServicePlan = {
  /** Name of the service. */
  readonly name: string
  /** Builds the service. */
  create(): Promise<Service>
}

/** One service of the pipeline. */
export class ServiceSlot {
  readonly name: string
  readonly #create: () => Promise<Service>
  readonly #listener: ServiceListener
  readonly #logger: Logger
  #service: Service | undefined
  /** Errors of building the service and of a start that takes too long; the service itself has all others. */
  readonly #health = new Health()
  #state: Extract<ServiceState, 'STOPPED' | 'STARTING' | 'ERROR'> = 'STOPPED'
  #waitingFor: string | null = null
  #starting: Promise<void> | undefined
  #isWaiting = Promise.withResolvers<void>()
  #stopping = new AbortController()

  constructor({ name, create }: ServicePlan, listener: ServiceListener, logger: Logger) {
    this.name = name
    this.#create = create
    this.#listener = listener
    this.#logger = logger
  }

  get service(): Service | undefined {
    return this.#service
  }

  status(): ServiceStatus {
    const errors = this.#health.errors
    if (this.#service === undefined) {
      const state = this.#state
      const healthy = state !== 'ERROR' && this.#health.healthy
      return {
        name: this.name,
        state,
        healthy,
        waitingFor: this.#waitingFor,
        startedAt: null,
        metrics: {},
        bindings: [],
        speed: null,
        errors,
      }
    }
    const status = this.#service.status()
    return errors.length === 0 ? status : { ...status, healthy: false, errors: [...status.errors, ...errors] }
  }

  clearErrors(): void {
    this.#health.clear()
    this.#service?.clearErrors()
  }

  /**
   * Whether it runs, or waits for its environment, in which case it continues by itself. Rejects if it can't start, or
   * if that takes too long, in which case it continues too.
   */
  async start(timeoutMs: number): Promise<'started' | 'waiting'> {
    const late = new ServiceTimeoutError(this.name, 'start', timeoutMs)
    const timer = Promise.withResolvers<never>()
    const timeout = setTimeout(() => timer.reject(late), timeoutMs)
    try {
      // A service that was stopped while it started ends first.
      if (this.#stopping.signal.aborted) {
        await Promise.race([this.#starting?.catch(() => undefined), timer.promise])
      }
      this.#begin()
      await Promise.race([this.#starting, this.#isWaiting.promise, timer.promise])
    } catch (error) {
      if (error === late) this.#fail('start', error)
      throw error
    } finally {
      clearTimeout(timeout)
      timer.promise.catch(() => undefined)
    }
    return this.status().state === 'STARTING' ? 'waiting' : 'started'
  }

  /** Resolves when it has stopped or the time is up. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping.abort()
    if (this.#service === undefined && this.#state === 'STARTING') this.#enter('STOPPED')
    await this.#service?.stop({ timeoutMs })
  }

  /** Concurrent starts are one. */
  #begin(): void {
    if (this.#starting !== undefined) return
    this.#stopping = new AbortController()
    this.#isWaiting = Promise.withResolvers<void>()
    this.#health.clear()
    const starting = this.#bringUp(this.#stopping.signal).finally(() => {
      this.#starting = undefined
    })
    this.#starting = starting
    starting.catch(() => undefined) // Nobody waits for it any more; the status has its error.
  }

  async #bringUp(signal: AbortSignal): Promise<void> {
    if (this.#service === undefined) await this.#build(signal)
    if (signal.aborted) return
    await this.#service?.start()
    this.#health.clear()
  }

  /** For as long as its resources are unavailable. */
  async #build(signal: AbortSignal): Promise<void> {
    // Shown only if it has to wait: usually the service is built at once, and reports its start itself.
    this.#state = 'STARTING'
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const service = await this.#create()
        service.listen(this.#listener)
        this.#service = service
        this.#state = 'STOPPED' // From now on the service tells its own.
        return
      } catch (error) {
        this.#fail('build', error)
        if (!isEnvironmentFault(error)) {
          this.#enter('ERROR')
          throw error
        }
        this.#waitingFor = whatIsAway(error)
        if (failures === 0) this.#tell('STARTING', 'STOPPED')
        this.#isWaiting.resolve()
      }
      await pauseFor(retryDelayMs(failures), signal)
      this.#waitingFor = null
    }
    this.#enter('STOPPED')
  }

  #enter(state: 'STOPPED' | 'STARTING' | 'ERROR'): void {
    const before = this.#state
    this.#state = state
    if (before !== state) this.#tell(state, before)
  }

  #tell(state: ServiceState, before: ServiceState): void {
    this.#listener({ type: 'state', service: this.name, state, before })
  }

  #fail(action: string, cause: unknown): void {
    const error = cause instanceof Error ? cause : new Error(String(cause))
    const level = this.#health.failed(action, error) ? 'warn' : 'debug'
    this.#logger[level]({ service: this.name, action, err: error }, 'a service reports a failure')
    this.#listener({ type: 'error', service: this.name, action, error })
  }
}
