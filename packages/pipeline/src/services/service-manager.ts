import type { Logger } from 'tidemark'
import { ServiceNotRunningError, UnknownServiceError } from './errors.ts'
import { Service, type ServiceEvent, type ServiceListener, type ServiceStatus, type StepReport } from './service.ts'
import { type ServicePlan, ServiceSlot } from './service-slot.ts'

/** Options of a ServiceManager. */
export type ServiceManagerOptions = {
  /** Services in the order in which they start. A plan is built when it is first started. */
  readonly services: readonly (Service | ServicePlan)[]
  /** Logger. */
  readonly logger: Logger
  /** Maximum time for a service to start, in milliseconds (default 60 000). */
  readonly startTimeoutMs?: number
  /** Maximum time for a service to stop, in milliseconds (default 30 000). */
  readonly stopTimeoutMs?: number
}

/** A service that could not start. */
export type FailedStart = {
  /** Name of the service. */
  readonly service: string
  /** The error. */
  readonly error: Error
}
/** Result of a start. */
export type StartReport = {
  /** Services that started. */
  readonly started: readonly string[]
  /** Services that wait for something and start by themselves when it is available. Their status has the reason. */
  readonly waiting: readonly string[]
  /** Services that could not start. */
  readonly failed: readonly FailedStart[]
}
/** Options of a stop. */
export type StopOptions = {
  /** Milliseconds to wait for a service. */
  readonly timeoutMs?: number
}

/**
 * Starts services in order, stops them in reverse order, and isolates their failures. Every method takes the name of
 * one service, or none for all.
 */
export class ServiceManager implements AsyncDisposable {
  readonly #slots: ReadonlyMap<string, ServiceSlot>
  readonly #listeners = new Set<ServiceListener>()
  readonly #logger: Logger
  readonly #startTimeoutMs: number
  readonly #stopTimeoutMs: number
  #stopping: Promise<void> | undefined
  /** Counts stops of all services, so that a start of all in progress notices that it is over. */
  #stops = 0

  constructor({ services, logger, startTimeoutMs = 60_000, stopTimeoutMs = 30_000 }: ServiceManagerOptions) {
    this.#logger = logger
    this.#startTimeoutMs = startTimeoutMs
    this.#stopTimeoutMs = stopTimeoutMs
    const slots = services.map(each => new ServiceSlot(planOf(each), event => this.#tell(event), logger))
    this.#slots = new Map(slots.map(slot => [slot.name, slot]))
    if (this.#slots.size < slots.length) throw new Error('Two services have the same name. Give each its own')
  }

  /** Names of the services. */
  get names(): readonly string[] {
    return [...this.#slots.keys()]
  }

  /**
   * Starts services. One that can't start is in ERROR and in the report. One that waits for its environment is in the
   * report and is not waited for. The services after it start anyway.
   */
  async start(name?: string): Promise<StartReport> {
    await this.#stopping
    const stops = this.#stops
    const started: string[] = []
    const waiting: string[] = []
    const failed: FailedStart[] = []
    for (const slot of this.#chosen(name)) {
      if (this.#stops !== stops) break
      try {
        const outcome = await slot.start(this.#startTimeoutMs)
        if (outcome === 'started') started.push(slot.name)
        else waiting.push(slot.name)
      } catch (error) {
        failed.push({ service: slot.name, error: error as Error })
      }
    }
    return { started, waiting, failed }
  }

  /**
   * Stops services. Each has its own timeout, so one that hangs does not affect the others. Can be called again and
   * before a start.
   */
  async stop(name?: string, { timeoutMs = this.#stopTimeoutMs }: StopOptions = {}): Promise<void> {
    if (name !== undefined) return await this.#slot(name).stop(timeoutMs)
    this.#stopping ??= this.#stopAll(timeoutMs).finally(() => {
      this.#stopping = undefined
    })
    await this.#stopping
  }

  /** Stops and starts services. */
  async restart(name?: string): Promise<StartReport> {
    await this.stop(name)
    return await this.start(name)
  }

  /** Pauses services. */
  pause(name?: string): void {
    for (const slot of this.#chosen(name)) slot.service?.pause()
  }

  /** Resumes services. */
  resume(name?: string): void {
    for (const slot of this.#chosen(name)) slot.service?.resume()
  }

  /**
   * Sets the maximum ticks per second of a simulation; null: unlimited. It applies until the process ends. Rejects with
   * `NoSpeedError` if the service is not a simulation, and with `ServiceNotRunningError` if it was never started.
   */
  async setSpeed(name: string, ticksPerSecond: number | null): Promise<void> {
    await this.#running(name).setSpeed(ticksPerSecond)
  }

  /**
   * Makes exactly this many ticks of a simulation and leaves it paused. Resolves when they are handed over. Rejects as
   * `setSpeed` does.
   */
  async step(name: string, ticks: number): Promise<StepReport> {
    return await this.#running(name).step(ticks)
  }

  /** Sets what holds these services back, as shown in their status; null: nothing. */
  heldFor(names: readonly string[], what: string | null): void {
    for (const name of names) this.#slot(name).service?.heldFor(what)
  }

  /** Clears reported errors. What still fails is reported again. */
  clearErrors(name?: string): void {
    for (const slot of this.#chosen(name)) slot.clearErrors()
  }

  /** Status of all services. */
  status(): readonly ServiceStatus[] {
    return [...this.#slots.values()].map(slot => slot.status())
  }

  /** Status of one service. */
  statusOf(name: string): ServiceStatus {
    return this.#slot(name).status()
  }

  /** Calls a listener with every change of state and every failure. The returned function removes it. */
  listen(listener: ServiceListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves when every service has ended. */
  async ended(): Promise<void> {
    await Promise.all([...this.#slots.values()].map(slot => slot.service?.ended()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #stopAll(timeoutMs: number): Promise<void> {
    this.#stops++
    for (const slot of [...this.#slots.values()].reverse()) await slot.stop(timeoutMs)
  }

  #chosen(name: string | undefined): readonly ServiceSlot[] {
    return name === undefined ? [...this.#slots.values()] : [this.#slot(name)]
  }

  #running(name: string): Service {
    const slot = this.#slot(name)
    if (slot.service === undefined) throw new ServiceNotRunningError(name, slot.status().state)
    return slot.service
  }

  #slot(name: string): ServiceSlot {
    const slot = this.#slots.get(name)
    if (slot === undefined) throw new UnknownServiceError(name, this.names)
    return slot
  }

  #tell(event: ServiceEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch (error) {
        this.#logger.error({ service: event.service, err: error }, 'a listener of the services threw')
      }
    }
  }
}

function planOf(given: Service | ServicePlan): ServicePlan {
  return given instanceof Service ? { name: given.name, create: async () => given } : given
}
