import type { Logger } from 'tidemark'
import { UnknownServiceError } from './errors.ts'
import { Service, type ServiceEvent, type ServiceListener, type ServiceStatus } from './service.ts'
import { type ServicePlan, ServiceSlot } from './service-slot.ts'

export type ServiceManagerOptions = {
  /** In the order in which they start. A plan is built at its first start. */
  readonly services: readonly (Service | ServicePlan)[]
  readonly logger: Logger
  /** For each service. Default 60 000. */
  readonly startTimeoutMs?: number
  /** For each service. Default 30 000. */
  readonly stopTimeoutMs?: number
}

export type FailedStart = { readonly service: string; readonly error: Error }
export type StartReport = {
  readonly started: readonly string[]
  /** What they need is away; they go on by themselves when it is there. Their status says what it is. */
  readonly waiting: readonly string[]
  readonly failed: readonly FailedStart[]
}
export type StopOptions = { readonly timeoutMs?: number }

/**
 * Starts services in their order, stops them in reverse, and keeps one's failure from the others. Every verb takes the
 * name of one service, or none for all.
 */
export class ServiceManager implements AsyncDisposable {
  readonly #slots: ReadonlyMap<string, ServiceSlot>
  readonly #listeners = new Set<ServiceListener>()
  readonly #logger: Logger
  readonly #startTimeoutMs: number
  readonly #stopTimeoutMs: number
  #stopping: Promise<void> | undefined
  /** Counts stops of all, so that a start of all which is under way sees that it is over. */
  #stops = 0

  constructor({ services, logger, startTimeoutMs = 60_000, stopTimeoutMs = 30_000 }: ServiceManagerOptions) {
    this.#logger = logger
    this.#startTimeoutMs = startTimeoutMs
    this.#stopTimeoutMs = stopTimeoutMs
    const slots = services.map(each => new ServiceSlot(planOf(each), event => this.#tell(event), logger))
    this.#slots = new Map(slots.map(slot => [slot.name, slot]))
    if (this.#slots.size < slots.length) throw new Error('Two services have the same name. Give each its own')
  }

  get names(): readonly string[] {
    return [...this.#slots.keys()]
  }

  /**
   * One that can't start is in ERROR and in the report; one that waits for its surroundings is in the report too, and is not
   * waited for. Those after it start all the same.
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

  /** Each has its own time to stop, so one that hangs takes none from the others. Again, and before a start, is fine. */
  async stop(name?: string, { timeoutMs = this.#stopTimeoutMs }: StopOptions = {}): Promise<void> {
    if (name !== undefined) return await this.#slot(name).stop(timeoutMs)
    this.#stopping ??= this.#stopAll(timeoutMs).finally(() => {
      this.#stopping = undefined
    })
    await this.#stopping
  }

  async restart(name?: string): Promise<StartReport> {
    await this.stop(name)
    return await this.start(name)
  }

  pause(name?: string): void {
    for (const slot of this.#chosen(name)) slot.service?.pause()
  }

  resume(name?: string): void {
    for (const slot of this.#chosen(name)) slot.service?.resume()
  }

  /** Says of these services what keeps them from going on; null: nothing does any more. */
  heldFor(names: readonly string[], what: string | null): void {
    for (const name of names) this.#slot(name).service?.heldFor(what)
  }

  /** For people who have seen them. What still fails is told again when it fails the next time. */
  clearErrors(name?: string): void {
    for (const slot of this.#chosen(name)) slot.clearErrors()
  }

  status(): readonly ServiceStatus[] {
    return [...this.#slots.values()].map(slot => slot.status())
  }

  statusOf(name: string): ServiceStatus {
    return this.#slot(name).status()
  }

  /** Hears of every change of state and every failure; the returned function ends it. */
  listen(listener: ServiceListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves when every service has ended, by itself or because it was stopped. */
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
