import type { Logger, Tidemark } from 'tidemark'
import type { CheckedConfig, CheckedService } from './config/config.ts'
import { type Roles, rolesOf } from './config/roles.ts'
import { PipelineLetters } from './dead-letters/pipeline-letters.ts'
import type { DiskStatus } from './disk/disk-status.ts'
import type { DiskWatch } from './disk/disk-watch.ts'
import { guardedOutlet } from './disk/guarded-outlet.ts'
import { watchDisk } from './disk/watch-pipeline.ts'
import { parseDuration } from './duration.ts'
import { RunLedgers } from './ledger/operate-ledgers.ts'
import { defaultLogger } from './logger.ts'
import type { PipelineProgress } from './progress/progress.ts'
import { ProgressReader } from './progress/progress-reader.ts'
import type { Movable } from './queues/worker-queue.ts'
import type { Outlet } from './resources/bound-resources.ts'
import type { ResourceStatus } from './resources/opened-resource.ts'
import { Resources } from './resources/resources.ts'
import { buildService } from './services/build-service.ts'
import { planRetention } from './services/retention/plan-retention.ts'
import type { ServiceStatus } from './services/service.ts'
import { ServiceManager, type StartReport } from './services/service-manager.ts'
import type { ServicePlan } from './services/service-slot.ts'
import { WorkerService } from './services/worker-service.ts'
import { withRunId } from './with-run-id.ts'

export type PipelineStatus = {
  readonly services: readonly ServiceStatus[]
  readonly resources: readonly ResourceStatus[]
  readonly disk: DiskStatus
  readonly healthy: boolean
}

export type RunOptions = {
  readonly logger?: Logger
  /** Milliseconds between two looks at the size of what is stored. Default 1000. */
  readonly diskLookMs?: number
}

/** From a checked configuration (`loadConfig`) to a running pipeline. What could not start is in `report`. */
export async function runPipeline(
  given: CheckedConfig,
  { logger = defaultLogger(), diskLookMs }: RunOptions = {},
): Promise<Pipeline> {
  const config = await withRunId(given, logger)
  const resources = new Resources({ config: config.resources, logger })
  const enabled = config.services.filter(service => service.enabled)
  const manager = new ServiceManager({
    // The last to start and the first to stop: nothing waits for it.
    services: [
      ...enabled.map(service => planOf(service, config, resources, logger)),
      ...planRetention(config, resources, logger),
    ],
    logger,
    startTimeoutMs: parseDuration('startTimeout', config.startTimeout),
    stopTimeoutMs: parseDuration('stopTimeout', config.stopTimeout),
  })
  const disk = watchDisk(config, resources, manager, { logger, lookMs: diskLookMs })
  // Before the first service: one that starts with the budget used up makes not a single tick.
  await disk.start()
  return new Pipeline({
    services: manager,
    resources,
    disk,
    letterTopics: letterTopicsOf(config),
    roles: rolesOf(config),
    report: await manager.start(),
  })
}

type PipelineParts = {
  readonly services: ServiceManager
  readonly resources: Resources
  readonly disk: DiskWatch
  readonly letterTopics: readonly string[]
  readonly roles: Roles
  readonly report: StartReport
}

/** How often the databases and storages are looked at. */
const LOOK_MS = 1_000

export class Pipeline implements AsyncDisposable {
  /** Starts, stops, pauses and restarts one service or all, and tells of their changes. */
  readonly services: ServiceManager
  readonly report: StartReport
  readonly #resources: Resources
  readonly #disk: DiskWatch
  readonly #letterTopics: readonly string[]
  readonly #progress: ProgressReader
  readonly #timer: NodeJS.Timeout

  constructor({ services, resources, disk, letterTopics, roles, report }: PipelineParts) {
    this.services = services
    this.report = report
    this.#resources = resources
    this.#disk = disk
    this.#letterTopics = letterTopics
    const observed = () => ({ services: services.status(), disk: disk.status() })
    this.#progress = new ProgressReader(observed, () => resources.openTopics, roles)
    this.#timer = setInterval(() => {
      void resources.look()
      this.#progress.sample()
    }, LOOK_MS)
    this.#timer.unref()
  }

  /** At once: services as they are, resources as they were when they were last looked at, a second ago at most. */
  status(): PipelineStatus {
    const services = this.services.status()
    const resources = this.#resources.status()
    const disk = this.#disk.status()
    return { services, resources, disk, healthy: [...services, ...resources, disk].every(({ healthy }) => healthy) }
  }

  /**
   * How far the run is: ticks made, stored and indexed, how fast, how far each indexer is behind, and how long the disk
   * lasts. Costs one question to the topics; while they don't answer, what they said last counts.
   *
   * @example
   * const { state, tick, ticksPerSecond, waitingBatches, disk } = await pipeline.progress()
   * console.log(`${state}: tick ${tick} at ${ticksPerSecond.toFixed(0)}/s, ${waitingBatches} batches to index`)
   * if (disk.secondsLeft !== null) console.log(`the disk is full in ${disk.secondsLeft} s`)
   */
  async progress(): Promise<PipelineProgress> {
    return await this.#progress.read()
  }

  /** The status after a look at every database and storage, which takes a few seconds where one does not answer. */
  async look(): Promise<PipelineStatus> {
    await Promise.all([this.#resources.look(), this.#disk.look()])
    return this.status()
  }

  /** Of one service, or of all services and resources. What still fails is told again when it fails the next time. */
  clearErrors(service?: string): void {
    this.services.clearErrors(service)
    if (service === undefined) this.#resources.clearErrors()
  }

  /**
   * The Tidemark that its services have in this process, so that whoever serves it hears what they do. Opened where none
   * has been; closed by `stop()`.
   */
  async topics(): Promise<Tidemark> {
    return await this.#resources.topics()
  }

  /** What was given up: to be listed, redriven and discarded. */
  async letters(): Promise<PipelineLetters> {
    return new PipelineLetters(await this.#resources.redriveTargets(), this.#letterTopics)
  }

  /** What indexers that look into the storage have given up. */
  ledgers(): RunLedgers {
    return new RunLedgers(this.#resources.indexAddresses)
  }

  /** Items that wait in the queues. */
  queued(): number {
    return this.#resources.queued()
  }

  /** For ticks and metadata from elsewhere: the near end of a queue of the configuration. */
  outlet<T extends Movable>(queue: string): Outlet<T> {
    return this.#resources.queue(queue) as unknown as Outlet<T>
  }

  /** The same for those who can't wait for room on the disk: a put rejects with `DiskFullError` while there is none. */
  guardedOutlet<T extends Movable>(queue: string): Outlet<T> {
    return guardedOutlet(this.outlet<T>(queue), this.#disk)
  }

  /** Nothing more is put into the queues: who takes from them has the rest, and ends. For good. */
  endQueues(): void {
    this.#resources.endQueues()
  }

  /** For good: services in reverse order, then what they shared. Again is fine. */
  async stop({ timeoutMs }: { readonly timeoutMs?: number } = {}): Promise<void> {
    await this.services.stop(undefined, timeoutMs === undefined ? {} : { timeoutMs })
    clearInterval(this.#timer)
    await this.#disk.close()
    await this.#resources.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

/** Also those of services that run elsewhere. */
const letterTopicsOf = ({ services }: CheckedConfig): string[] => [
  ...new Set(
    services.flatMap(({ bindings: { deadLetters } }) => (deadLetters === undefined ? [] : [deadLetters.name])),
  ),
]

function planOf(service: CheckedService, config: CheckedConfig, resources: Resources, logger: Logger): ServicePlan {
  const { folder } = config
  const inThread = { service, config: config.resources, folder, resources }
  return {
    name: service.name,
    create: async () =>
      service.thread ? new WorkerService(inThread, logger) : await buildService(service, folder, resources, logger),
  }
}
