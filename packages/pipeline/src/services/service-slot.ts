import type { Logger } from 'tidemark'
import { ServiceTimeoutError } from './errors.ts'
import type { Service, ServiceError, ServiceListener, ServiceStatus } from './service.ts'

/** A service that is built when it is first started: what can't be built is its own failure, and no other's. */
export type ServicePlan = { readonly name: string; create(): Promise<Service> }

/** The place of one service in the pipeline. Starts and stops of it happen one after another. */
export class ServiceSlot {
  readonly name: string
  readonly #create: () => Promise<Service>
  readonly #listener: ServiceListener
  readonly #logger: Logger
  #service: Service | undefined
  /** Of a build that failed or a start that hangs; a start that failed is with the service itself. */
  #startError: ServiceError | undefined
  #turn: Promise<unknown> = Promise.resolve()

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
    const error = this.#startError
    if (this.#service !== undefined) {
      const status = this.#service.status()
      const isStuck = error !== undefined && status.state === 'STOPPED'
      return isStuck ? { ...status, state: 'ERROR', healthy: false, errors: [...status.errors, error] } : status
    }
    return {
      name: this.name,
      state: error === undefined ? 'STOPPED' : 'ERROR',
      healthy: error === undefined,
      startedAt: null,
      metrics: {},
      errors: error === undefined ? [] : [error],
    }
  }

  /** Rejects with what kept it from starting. */
  async start(timeoutMs: number): Promise<void> {
    await this.#inTurn(async () => {
      const late = new ServiceTimeoutError(this.name, 'start', timeoutMs)
      this.#startError = undefined
      try {
        this.#service ??= await within(timeoutMs, this.#build(), late)
      } catch (error) {
        this.#fail('build', error)
        throw error
      }
      try {
        await within(timeoutMs, this.#service.start(), late)
      } catch (error) {
        if (error === late) this.#fail('start', error)
        throw error
      }
    })
  }

  /** Resolves when it has stopped or the time is up. A start that hangs is not waited for any longer than that. */
  async stop(timeoutMs: number): Promise<void> {
    // The service may be in the middle of a start, which sees the stop; so this does not wait for its turn.
    await this.#service?.stop({ timeoutMs })
  }

  async #build(): Promise<Service> {
    const service = await this.#create()
    service.listen(this.#listener)
    return service
  }

  #fail(action: string, cause: unknown): void {
    const error = cause instanceof Error ? cause : new Error(String(cause))
    this.#startError = { at: new Date(), action, error }
    this.#logger.warn({ service: this.name, action, err: error }, 'a service reports a failure')
    this.#listener({ type: 'error', service: this.name, action, error })
    this.#listener({ type: 'state', service: this.name, state: 'ERROR', before: 'STOPPED' })
  }

  async #inTurn(step: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(step, step)
    this.#turn = turn
    await turn
  }
}

async function within<T>(timeoutMs: number, work: Promise<T>, late: Error): Promise<T> {
  const timer = Promise.withResolvers<never>()
  const timeout = setTimeout(() => timer.reject(late), timeoutMs)
  try {
    return await Promise.race([work, timer.promise])
  } finally {
    clearTimeout(timeout)
    work.catch(() => {}) // Of one that was left behind, the service itself keeps the error.
  }
}
