import type { Logger, Tidemark } from 'tidemark'
import { retryDelayMs } from '../backoff.ts'
import type { CheckedConfig } from '../config/config.ts'
import { checkOptions } from '../config/option-table.ts'
import { type Roles, rolesOf } from '../config/roles.ts'
import type { EncodedTick } from '../contracts/tick-codec.ts'
import { FolderLocks } from '../databases/folder-lock.ts'
import { loadEnvironmentStrategy } from '../environment/load-strategy.ts'
import type { EnvironmentStrategy } from '../environment/strategy.ts'
import { isEnvironmentFault } from '../faults.ts'
import { RunGroups } from '../progress/run-groups.ts'
import type { Outlet } from '../resources/bound-resources.ts'
import { type Pipeline, runPipeline } from '../run-pipeline.ts'
import type { EncodedMetadata } from '../services/simulation/simulation-service.ts'
import { environmentIndexerType } from '../services/types/environment-indexer.ts'
import { pauseFor } from '../services/until-aborted.ts'
import { withRunId } from '../with-run-id.ts'
import { type ConfigChoice, chooseConfig, type IngestQueues, withRunChoice } from './choose-config.ts'
import { finish, runOver } from './ending.ts'
import { type Source, sourcesOf } from './sources.ts'
import { type IndexTotals, totalsOf } from './totals.ts'

/** Options of `startPipeline`. */
export type StartOptions = ConfigChoice & {
  /** Logger. */
  readonly logger: Logger
  /** Signal that stops the pipeline in good order. */
  readonly interrupted: AbortSignal
}

/**
 * Runs the pipeline of a configuration file, or the default one, as `tidemark start` does. Returns null if it was
 * interrupted before it started.
 *
 * @example
 * const started = await startPipeline({
 *   configFile: 'tidemark.config.ts',
 *   dataFolder: './data',
 *   newRun: false,
 *   ticks: undefined,
 *   logger: defaultLogger(),
 *   interrupted: signal,
 * })
 * await started?.over()
 */
export async function startPipeline(options: StartOptions): Promise<StartedPipeline | null> {
  const { interrupted, logger } = options
  const { config: given, types, ingest, locks: folders } = await chooseConfig(options)
  using locks = new FolderLocks()
  // Before anything is read: another process would change the run and its last tick.
  for (const folder of new Set(folders)) await locks.lock(folder)
  const withRun = async () => await withRunId(await withRunChoice(given, options), logger)
  const config = await waitedFor(withRun, interrupted)
  if (config === null) return null
  const sources = sourcesOf({ config, types })
  const pipeline = await runPipeline(config, { logger })
  return StartedPipeline.create({ pipeline, config, sources, ingest, locks: locks.move() }, options)
}

type StartedParts = {
  readonly pipeline: Pipeline
  readonly config: CheckedConfig
  readonly sources: readonly Source[]
  readonly ingest: IngestQueues | undefined
  readonly locks: FolderLocks
}

/** A running pipeline, with its folders locked until it is disposed. */
export class StartedPipeline implements AsyncDisposable {
  /** The pipeline. */
  readonly pipeline: Pipeline
  readonly #config: CheckedConfig
  readonly #roles: Roles
  readonly #sources: readonly Source[]
  readonly #ingest: IngestQueues | undefined
  readonly #locks: FolderLocks
  readonly #options: StartOptions

  /** @internal */
  static create(parts: StartedParts, options: StartOptions): StartedPipeline {
    return new StartedPipeline(parts, options)
  }

  private constructor({ pipeline, config, sources, ingest, locks }: StartedParts, options: StartOptions) {
    this.pipeline = pipeline
    this.#config = config
    this.#roles = rolesOf(config)
    this.#sources = sources
    this.#ingest = ingest
    this.#locks = locks
    this.#options = options
  }

  /** Id of the run; '' if it is not known before the run begins. */
  get runId(): string {
    return this.#roles.runId
  }

  /** Address of the run indexes: the one named 'runs', or the first. */
  get indexes(): string | undefined {
    const { indexes } = this.#config.resources
    return (indexes.runs ?? Object.values(indexes)[0])?.address
  }

  /** Where the ticks of an ingested run go. */
  get ingest(): { ticks: Outlet<EncodedTick>; metadata?: Outlet<EncodedMetadata>; runId: string } | undefined {
    const { ingestedRun } = this.#options
    if (this.#ingest === undefined || ingestedRun === undefined) return undefined
    const { ticks, metadata } = this.#ingest
    return {
      ticks: this.pipeline.guardedOutlet<EncodedTick>(ticks),
      ...(metadata !== undefined && { metadata: this.pipeline.outlet<EncodedMetadata>(metadata) }),
      runId: ingestedRun,
    }
  }

  /** Whether a service has failed. */
  get hasFailed(): boolean {
    return this.pipeline.status().services.some(({ state }) => state === 'ERROR')
  }

  /**
   * Tidemark of the pipeline, when it is reachable. Undefined if the configuration has no topics; null if it was
   * interrupted first.
   */
  async topics(): Promise<Tidemark | undefined | null> {
    if (this.#config.resources.topics === null) return undefined
    return await waitedFor(() => this.pipeline.topics(), this.#options.interrupted)
  }

  /** Strategies of the environment indexers. One that can't be loaded is an error of its indexer. */
  async environmentStrategies(): Promise<EnvironmentStrategy[]> {
    const { services, folder } = this.#config
    // Including strategies of indexers on another machine: their ticks are read here.
    const indexers = services.filter(({ type }) => type === 'environment-indexer')
    const loading = indexers.map(({ name, options }) => {
      const checked = checkOptions(`services.${name}.options`, options, environmentIndexerType.options)
      const { strategy, compression, level, strategyOptions } = checked
      return loadEnvironmentStrategy(strategy, { compression, level, ...strategyOptions }, folder)
    })
    const loaded = await Promise.allSettled(loading)
    return loaded.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
  }

  /** Resolves when the run is over and indexed, or when it is interrupted. */
  async over(): Promise<void> {
    const { interrupted } = this.#options
    const topics = await this.topics()
    if (topics === null) return
    await runOver(this.pipeline, this.#sources, interrupted)
    const groups = new RunGroups(() => topics, this.#roles)
    await finish(this.pipeline, { roles: this.#roles, sources: this.#sources, groups }, interrupted)
  }

  /** What is in the index of the run, also after the pipeline was stopped. */
  async totals(): Promise<IndexTotals | undefined> {
    const { runId, indexes } = this
    return runId === '' || indexes === undefined ? undefined : await totalsOf(indexes, runId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    using _ = this.#locks
    await this.pipeline.stop()
  }
}

/** Waits for what is not available yet, as the services do; null if interrupted first. */
async function waitedFor<T>(work: () => Promise<T>, interrupted: AbortSignal): Promise<T | null> {
  for (let failures = 0; !interrupted.aborted; failures++) {
    try {
      return await work()
    } catch (error) {
      if (!isEnvironmentFault(error)) throw error
      await pauseFor(retryDelayMs(failures), interrupted)
    }
  }
  return null
}
