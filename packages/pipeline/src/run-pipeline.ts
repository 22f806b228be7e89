import type { Logger, Tidemark } from 'tidemark'
import type { CheckedConfig, CheckedService } from './config/config.ts'
import { type Roles, rolesOf } from './config/roles.ts'
import { PipelineLetters } from './dead-letters/pipeline-letters.ts'
import { Allowance } from './disk/allowance.ts'
import type { DiskStatus } from './disk/disk-status.ts'
import type { DiskWatch } from './disk/disk-watch.ts'
import { guardedOutlet } from './disk/guarded-outlet.ts'
import { watchDisk } from './disk/watch-pipeline.ts'
import { parseDuration } from './duration.ts'
import { graphOf, type PipelineGraph } from './graph/pipeline-graph.ts'
import { RunLedgers } from './ledger/operate-ledgers.ts'
import { defaultLogger } from './logger.ts'
import { SourcePace } from './pace/source-pace.ts'
import type { PipelineProgress } from './progress/progress.ts'
import { ProgressReader } from './progress/progress-reader.ts'
import { RunGroups } from './progress/run-groups.ts'
import type { Movable } from './queues/worker-queue.ts'
import type { Outlet } from './resources/bound-resources.ts'
import type { ResourceStatus } from './resources/opened-resource.ts'
import { Resources } from './resources/resources.ts'
import { isRunId } from './run-id.ts'
import { buildService } from './services/build-service.ts'
import { planRetention } from './services/retention/plan-retention.ts'
import type { ServiceState, ServiceStatus } from './services/service.ts'
import { ServiceManager, type StartReport } from './services/service-manager.ts'
import type { ServicePlan } from './services/service-slot.ts'
import { WorkerService } from './services/worker-service.ts'
import { withRunId } from './with-run-id.ts'

/** Status of a pipeline. */
export type PipelineStatus = {
  /** Each service. */
  readonly services: readonly ServiceStatus[]
  /** Each resource. */
  readonly resources: readonly ResourceStatus[]
  /** Disk usage. */
  readonly disk: DiskStatus
  /** Whether everything works. */
  readonly healthy: boolean
}

/** Options of `runPipeline`. */
export type RunOptions = {
  /** Logger (default: warnings and errors to standard error). */
  readonly logger?: Logger
  /** Milliseconds between two measurements of the disk usage (default 1000). */
  readonly diskLookMs?: number
}

/**
 * Starts the pipeline of a checked configuration. Services that could not start are listed in `report`.
 *
 * @example
 * await using pipeline = await runPipeline(await loadConfig('tidemark.config.ts'))
 * console.log(pipeline.report.failed)
 */
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
      ...planRetention(config, resources, logger, () => disk.fullness),
    ],
    logger,
    startTimeoutMs: parseDuration('startTimeout', config.startTimeout),
    stopTimeoutMs: parseDuration('stopTimeout', config.stopTimeout),
  })
  const allowance = new Allowance()
  const disk: DiskWatch = watchDisk(config, resources, manager, { allowance, logger, lookMs: diskLookMs })
  const roles = rolesOf(config)
  const pace = new SourcePace({
    maxWaiting: config.maxWaitingBatches,
    maxWaitingMs: parseDuration('maxWaitingTime', config.maxWaitingTime),
    roles,
    groups: new RunGroups(() => resources.openTopics, roles),
    services: () => manager.status(),
    allowance,
    logger,
    lookMs: diskLookMs,
  })
  // Before the first service: one that starts with the budget used up produces not a single tick.
  await disk.start()
  pace.start()
  return Pipeline.create({
    services: manager,
    resources,
    disk,
    pace,
    letterTopics: letterTopicsOf(config),
    roles,
    config,
    report: await manager.start(),
  })
}

type PipelineParts = {
  readonly services: ServiceManager
  readonly resources: Resources
  readonly disk: DiskWatch
  readonly pace: SourcePace
  readonly letterTopics: readonly string[]
  readonly roles: Roles
  readonly config: CheckedConfig
  readonly report: StartReport
}

const OVER: ReadonlySet<ServiceState> = new Set(['STOPPED', 'ERROR'])

/** How often the databases and storages are checked. */
const LOOK_MS = 1_000

/** A running pipeline. */
export class Pipeline implements AsyncDisposable {
  /** Starts, stops, pauses and restarts services, and reports their changes. */
  readonly services: ServiceManager
  /** Which services started. */
  readonly report: StartReport
  readonly #resources: Resources
  readonly #disk: DiskWatch
  readonly #pace: SourcePace
  readonly #letterTopics: readonly string[]
  readonly #progress: ProgressReader
  readonly #config: CheckedConfig
  readonly #timer: NodeJS.Timeout

  /** @internal */
  static create(parts: PipelineParts): Pipeline {
    return new Pipeline(parts)
  }

  private constructor({ services, resources, disk, pace, letterTopics, roles, config, report }: PipelineParts) {
    this.#config = config
    this.services = services
    this.report = report
    this.#resources = resources
    this.#disk = disk
    this.#pace = pace
    this.#letterTopics = letterTopics
    const observed = () => ({ services: services.status(), disk: disk.status(), slowedBy: pace.slowedBy })
    this.#progress = new ProgressReader(observed, () => resources.openTopics, roles)
    this.#timer = setInterval(() => {
      void resources.look()
      this.#progress.sample()
    }, LOOK_MS)
    this.#timer.unref()
  }

  /** Current status of the services, and the status of resources at the last check, at most a second ago. */
  status(): PipelineStatus {
    const services = this.services.status()
    const resources = this.#resources.status()
    const disk = this.#disk.status()
    return { services, resources, disk, healthy: [...services, ...resources, disk].every(({ healthy }) => healthy) }
  }

  /**
   * Progress of the run: ticks produced, stored and indexed, their rates, the lag of each indexer, and the time until
   * the disk is full. Makes one query to the topics; while they do not answer, their last answer is used.
   *
   * @example
   * const { state, tick, ticksPerSecond, waitingBatches, disk } = await pipeline.progress()
   * console.log(`${state}: tick ${tick} at ${ticksPerSecond.toFixed(0)}/s, ${waitingBatches} batches to index`)
   * if (disk.secondsLeft !== null) console.log(`the disk is full in ${disk.secondsLeft} s`)
   */
  async progress(): Promise<PipelineProgress> {
    return await this.#progress.read()
  }

  /**
   * The pipeline as a flow: its services, the resources between them, and how much has passed through each binding.
   *
   * @example
   * for (const { from, to, passed } of pipeline.graph().edges) console.log(`${from} → ${to}: ${passed}`)
   */
  graph(): PipelineGraph {
    return graphOf(this.#config, this.services.status(), this.#resources.status())
  }

  /** Runs that simulations of this pipeline produce: running, waiting or paused, but not stopped. */
  liveRuns(): readonly string[] {
    const simulations = this.#config.services.filter(({ type, enabled }) => type === 'simulation' && enabled)
    const live = simulations.filter(({ name }) => !OVER.has(this.services.statusOf(name).state))
    return live.map(({ options }) => options.runId).filter(isRunId)
  }

  /** Status after a check of every database and storage, which takes a few seconds if one does not answer. */
  async look(): Promise<PipelineStatus> {
    await Promise.all([this.#resources.look(), this.#disk.look()])
    return this.status()
  }

  /** Clears the errors of one service, or of all services and resources. What still fails is reported again. */
  clearErrors(service?: string): void {
    this.services.clearErrors(service)
    if (service === undefined) this.#resources.clearErrors()
  }

  /** Tidemark of the services of this process, opened if necessary and closed by `stop()`. Its events include theirs. */
  async topics(): Promise<Tidemark> {
    return await this.#resources.topics()
  }

  /** Dead letters of the pipeline, to list, redrive and discard. */
  async letters(): Promise<PipelineLetters> {
    return new PipelineLetters(await this.#resources.redriveTargets(), this.#letterTopics)
  }

  /** Ledgers of indexers that read the storage, with their failed batches. */
  ledgers(): RunLedgers {
    return new RunLedgers(this.#resources.indexAddresses)
  }

  /** Number of items in the queues. */
  queued(): number {
    return this.#resources.queued()
  }

  /** Sending end of a queue of the configuration, for ticks and metadata from outside. */
  outlet<T extends Movable>(queue: string): Outlet<T> {
    return this.#resources.queue(queue) as unknown as Outlet<T>
  }

  /** Same as `outlet`, but `put` rejects with `DiskFullError` instead of waiting for disk space. */
  guardedOutlet<T extends Movable>(queue: string): Outlet<T> {
    return guardedOutlet(this.outlet<T>(queue), this.#disk)
  }

  /** Closes the queues permanently. Services that drain them process the rest and end. */
  endQueues(): void {
    this.#resources.endQueues()
  }

  /** Stops services in reverse order, then their resources, permanently. Can be called again. */
  async stop({ timeoutMs }: { readonly timeoutMs?: number } = {}): Promise<void> {
    await this.services.stop(undefined, timeoutMs === undefined ? {} : { timeoutMs })
    clearInterval(this.#timer)
    await this.#pace.close()
    await this.#disk.close()
    await this.#resources.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

/** Including those of services that run elsewhere. */
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
