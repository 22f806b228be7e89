import { MessageChannel, Worker } from 'node:worker_threads'
import type { Logger } from 'tidemark'
import type { CheckedResources, CheckedService } from '../config/config.ts'
import type { BoundedQueue } from '../queues/bounded-queue.ts'
import { QueueBrokenError } from '../queues/errors.ts'
import { type Movable, WorkerQueueReceiver } from '../queues/worker-queue.ts'
import type { Resources } from '../resources/resources.ts'
import { NoSpeedError, ServiceNotRunningError, WorkerDiedError, WorkerSilentError } from './errors.ts'
import type { ServiceError } from './health.ts'
import { Service, type ServiceContext, type ServiceSpeed, type ServiceStatus, type StepReport } from './service.ts'
import { workerEntry } from './worker-entry.ts'
import { type Asked, type FromWorker, fromSent, type ToWorker, type WorkerSetup } from './worker-protocol.ts'

export type WorkerServiceOptions = {
  readonly service: CheckedService
  readonly config: CheckedResources
  readonly folder: string
  readonly resources: Resources
}

/** Items in transit between a thread and its queue; the queue itself holds the rest. */
const ITEMS_ON_THE_WAY = 16
const DRAIN_MS = 1_000
/** The thread reports its status five times a second. */
const SILENT_MS = 10_000

type Reported = Extract<FromWorker, { type: 'report' }>
type Told = Extract<FromWorker, { type: 'status' }>
const NOTHING_TOLD: Told = {
  type: 'status',
  metrics: {},
  healthy: true,
  waitingFor: null,
  bindings: [],
  speed: null,
  errors: [],
}
const NO_STEPS: StepReport = { from: 0, to: 0, ticks: 0 }
type Pump = { readonly receiver: WorkerQueueReceiver<Movable>; readonly queue: BoundedQueue<Movable> }

/**
 * Represents a service that runs in its own thread. It starts, pauses, stops and fails as if it were here.
 *
 *   thread: service ──put──▶ WorkerQueueSender ═══▶ WorkerQueueReceiver ──pump──▶ BoundedQueue ──▶ whoever takes
 *
 * Storages, topics and indexes are opened again in the thread; queue items are transferred without copying.
 */
export class WorkerService extends Service {
  readonly #options: WorkerServiceOptions
  #thread: Worker | undefined
  #pumps: readonly Pump[] = []
  #ended = Promise.withResolvers<void>()
  #context: ServiceContext | undefined
  /** Reported before run() began here: the thread has a head start. */
  #earlyReports: Reported[] = []
  /** The last reported status of the service in the thread. */
  #told: Told = NOTHING_TOLD
  /** When that was, on the monotonic clock; undefined while no thread runs. */
  #toldAt: number | undefined
  #waiting: Disposable | undefined
  /** What the thread was asked and has not answered. */
  readonly #asked = new Map<number, PromiseWithResolvers<StepReport | null>>()
  #lastAsked = 0
  /** Set by somebody: a thread that starts anew begins with it. */
  #speed: number | null | undefined

  constructor(options: WorkerServiceOptions, logger: Logger) {
    super(options.service.name, logger)
    this.#options = options
  }

  protected override async prepare(): Promise<void> {
    const started = Promise.withResolvers<void>()
    this.#context = undefined
    this.#told = NOTHING_TOLD
    this.#ended = Promise.withResolvers<void>()
    this.#ended.promise.catch(() => {}) // run() reports it, if it comes to that.
    const thread = this.#spawn()
    const died = (problem: string, cause?: unknown): void => {
      const error = new WorkerDiedError(this.name, problem, cause)
      started.reject(error)
      this.#ended.reject(error)
      this.#refuseAsked(error)
    }
    thread.on('message', (message: FromWorker) => {
      if (message.type === 'started') started.resolve()
      else if (message.type === 'failed') started.reject(fromSent(message.error))
      else this.#hear(message)
    })
    thread.on('error', error => died(`failed: ${error instanceof Error ? error.message : String(error)}`, error))
    thread.on('exit', code => died(`ended with code ${code}`))
    try {
      await started.promise
      if (this.#speed !== undefined) await this.#ask({ what: 'speed', ticksPerSecond: this.#speed })
      this.#toldAt = performance.now()
    } catch (error) {
      await this.#end()
      throw error
    }
  }

  protected override async run(context: ServiceContext): Promise<void> {
    const { signal } = context
    this.#context = context
    for (const early of this.#earlyReports.splice(0)) this.#hear(early)
    this.#showWait()
    const stop = (): void => this.#tell({ type: 'stop' })
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    try {
      await Promise.all([this.#ended.promise, ...this.#pumps.map(pump => this.#run(pump, signal))])
    } finally {
      signal.removeEventListener('abort', stop)
      this.#told = { ...this.#told, waitingFor: null }
      this.#showWait()
    }
  }

  protected override async release(): Promise<void> {
    await this.#end()
  }

  override pause(): void {
    super.pause()
    if (this.state === 'PAUSED') this.#tell({ type: 'pause' })
  }

  override resume(): void {
    super.resume()
    this.#tell({ type: 'resume' })
  }

  protected override get speed(): ServiceSpeed | null {
    return this.#told.speed
  }

  override async setSpeed(ticksPerSecond: number | null): Promise<void> {
    await this.#ask({ what: 'speed', ticksPerSecond })
    this.#speed = ticksPerSecond
  }

  override async step(ticks: number): Promise<StepReport> {
    this.#requireSpeed()
    const wasPaused = this.state === 'PAUSED'
    super.pause()
    try {
      return (await this.#ask({ what: 'step', ticks })) ?? NO_STEPS
    } catch (error) {
      if (!wasPaused) super.resume()
      throw error
    }
  }

  /** Unlike a service of this thread, a hanging one can be ended. */
  override async stop(options: { timeoutMs?: number } = {}): Promise<void> {
    await super.stop(options)
    if (this.state === 'ERROR') await this.#end()
  }

  override status(): ServiceStatus {
    const status = super.status()
    const inThread = this.#told.errors.map(({ at, action, error }) => ({ at, action, error: fromSent(error) }))
    return { ...status, bindings: this.#told.bindings, errors: [...inThread, ...status.errors, ...this.#silence()] }
  }

  override clearErrors(): void {
    super.clearErrors()
    this.#told = { ...this.#told, healthy: true, errors: [] }
    this.#tell({ type: 'clearErrors' })
  }

  protected override metrics(): Record<string, number> {
    return this.#told.metrics
  }

  protected override isHealthy(): boolean {
    return this.#told.healthy && this.#silence().length === 0
  }

  /** A hanging thread can't report that itself. */
  #silence(): ServiceError[] {
    const silentMs = this.#toldAt === undefined ? 0 : performance.now() - this.#toldAt
    if (silentMs < SILENT_MS) return []
    const at = new Date(Date.now() - silentMs)
    return [{ at, action: 'thread', error: new WorkerSilentError(this.name, silentMs) }]
  }

  #spawn(): Worker {
    const { service, config, folder, resources } = this.#options
    const names = Object.values(service.bindings).flatMap(({ kind, name }) => (kind === 'queue' ? [name] : []))
    const channels = [...new Set(names)].map(name => ({ name, ...new MessageChannel() }))
    this.#pumps = channels.map(({ name, port2 }) => {
      const queue = resources.queue(name)
      const limits = { maxItems: ITEMS_ON_THE_WAY, maxBytes: queue.metrics.maxBytes }
      return { queue, receiver: new WorkerQueueReceiver<Movable>(port2, limits) }
    })
    const outlets = Object.fromEntries(channels.map(({ name, port1 }) => [name, port1]))
    this.#thread = new Worker(workerEntry(), {
      name: service.name,
      workerData: { service, resources: withoutFunctions(config), folder, outlets } satisfies WorkerSetup,
      transferList: Object.values(outlets),
    })
    return this.#thread
  }

  #hear(message: FromWorker): void {
    if (message.type === 'status') {
      this.#told = message
      this.#toldAt = performance.now()
      this.#showWait()
    } else if (message.type === 'report') {
      if (this.#context === undefined) this.#earlyReports.push(message)
      else this.#context.note(message.action, fromSent(message.error))
    } else if (message.type === 'log') this.logger[message.level](message.fields, message.message)
    else if (message.type === 'answer' || message.type === 'refusal') {
      const asked = this.#asked.get(message.id)
      this.#asked.delete(message.id)
      if (message.type === 'answer') asked?.resolve(message.answer)
      else asked?.reject(fromSent(message.error))
    } else if (message.type === 'ended') {
      if (message.error === null) this.#ended.resolve()
      else this.#ended.reject(fromSent(message.error))
    }
  }

  #showWait(): void {
    const { waitingFor } = this.#told
    this.#waiting?.[Symbol.dispose]()
    this.#waiting = waitingFor === null ? undefined : this.#context?.waiting(waitingFor)
  }

  async #run({ receiver, queue }: Pump, letIn: AbortSignal): Promise<void> {
    try {
      while (!receiver.isEnded) {
        for (const item of await receiver.drain(ITEMS_ON_THE_WAY, { timeout: DRAIN_MS })) {
          await queue.put(item, { letIn })
        }
      }
    } catch (error) {
      // The thread is gone; its error says more than the broken queue.
      if (error instanceof QueueBrokenError) await this.#ended.promise
      throw error
    }
  }

  /** Before a service that has none is paused for it. */
  #requireSpeed(): void {
    if (this.#thread === undefined) throw new ServiceNotRunningError(this.name, this.state)
    if (this.#told.speed === null) throw new NoSpeedError(this.name)
  }

  async #ask(asked: Asked): Promise<StepReport | null> {
    this.#requireSpeed()
    const id = ++this.#lastAsked
    const answer = Promise.withResolvers<StepReport | null>()
    this.#asked.set(id, answer)
    this.#tell({ type: 'ask', id, ...asked })
    return await answer.promise
  }

  #refuseAsked(error: Error): void {
    for (const { reject } of this.#asked.values()) reject(error)
    this.#asked.clear()
  }

  #tell(message: ToWorker): void {
    this.#thread?.postMessage(message)
  }

  async #end(): Promise<void> {
    for (const { receiver } of this.#pumps) receiver.close()
    await this.#thread?.terminate()
    this.#thread = undefined
    this.#refuseAsked(new ServiceNotRunningError(this.name, this.state))
    this.#toldAt = undefined
  }
}

/** Functions can't be copied to a thread. The check of the configuration ensures that the service needs none. */
function withoutFunctions(config: CheckedResources): CheckedResources {
  const storages = Object.entries(config.storages).map(([name, options]) => {
    const { credentials: _, ...rest } = { credentials: undefined, ...options }
    return [name, rest] as const
  })
  return { ...config, storages: Object.fromEntries(storages) }
}
