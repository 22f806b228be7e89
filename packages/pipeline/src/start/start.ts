import type { Logger, Tidemark } from 'tidemark'
import type { WholeConfig } from '../config/check-whole.ts'
import type { CheckedConfig } from '../config/config.ts'
import { checkOptions } from '../config/option-table.ts'
import type { EncodedTick } from '../contracts/tick-codec.ts'
import { lockFolder } from '../databases/folder-lock.ts'
import { loadEnvironmentStrategy } from '../environment/load-strategy.ts'
import type { EnvironmentStrategy } from '../environment/strategy.ts'
import { isEnvironmentFault } from '../faults.ts'
import type { Outlet } from '../resources/bound-resources.ts'
import { type Pipeline, runPipeline } from '../run-pipeline.ts'
import type { EncodedMetadata } from '../services/simulation/simulation-service.ts'
import { environmentIndexer } from '../services/types/environment-indexer.ts'
import { backoffMs, pauseFor } from '../services/until-aborted.ts'
import { withRunId } from '../with-run-id.ts'
import { type Chosen, type ConfigChoice, chooseConfig, withRunChoice } from './choose-config.ts'
import { finish, runOver } from './ending.ts'
import { ProgressReader } from './progress.ts'
import { RecentProblems } from './recent-problems.ts'
import { rolesOf } from './roles.ts'
import { tellerFor } from './tellers.ts'
import { totalsOf } from './totals.ts'

/** What runs, for whoever serves it. */
export type Started = {
  readonly pipeline: Pipeline
  /** None where the configuration has none. */
  readonly topics?: Tidemark
  /** The address of the runs' indexes. */
  readonly indexes?: string
  /** Where the ticks of an ingested run go. */
  readonly ingest?: {
    readonly ticks: Outlet<EncodedTick>
    readonly metadata?: Outlet<EncodedMetadata>
    readonly runId: string
  }
  /** Those of the environment indexers. */
  readonly environmentStrategy: readonly EnvironmentStrategy[]
  readonly logger: Logger
}

export type StartOptions = ConfigChoice & {
  readonly format: 'text' | 'json'
  /** Ends it in good order. */
  readonly interrupted: AbortSignal
  /** Makes it seen at an address, until it ends. */
  readonly serve?: (started: Started) => Promise<AsyncDisposable & { readonly url: string }>
}

/** Runs a pipeline until it is interrupted or its run is over. False where a service has failed. */
export async function start(options: StartOptions): Promise<boolean> {
  const { interrupted } = options
  const teller = tellerFor(options.format)
  const problems = new RecentProblems(text => teller.problem(text))
  const { logger } = problems
  const chosen = await chooseConfig(options)
  using locks = new DisposableStack()
  // Before anything is looked at: whose run it is, and up to which tick, would change while the other goes on.
  for (const folder of new Set(chosen.locks)) locks.use(await lockFolder(folder))
  const whole = await waitedFor(() => withRun(chosen, options, logger), interrupted)
  if (whole === null) return true
  const { config } = whole
  const roles = rolesOf(whole)
  const { runId } = roles
  const pipeline = await runPipeline(config, { logger })
  try {
    const topics = config.resources.topics === null ? undefined : await waitedFor(() => pipeline.topics(), interrupted)
    if (topics === null) return !hasFailed(pipeline)
    const served = { ...indexesOf(config), ...(topics && { topics }), ...ingestOf(chosen, options, pipeline) }
    const environmentStrategy = await strategiesOf(config)
    await using server = await options.serve?.({ pipeline, environmentStrategy, logger, ...served })
    const reader = new ProgressReader(pipeline, topics, roles)
    const show = async (): Promise<void> => teller.progress(await reader.read(), problems.recent)
    teller.begun({ runId, url: server?.url, configFile: options.configFile })
    const done = new AbortController()
    const showing = showAgainAndAgain(show, teller.everyMs, done.signal)
    try {
      await runOver(pipeline, roles, interrupted)
      await finish(pipeline, roles, reader, interrupted)
    } finally {
      done.abort()
      await showing
    }
    await pipeline.services.stop()
    await show()
  } finally {
    await pipeline.stop()
  }
  const { indexes } = indexesOf(config)
  if (runId !== '' && indexes !== undefined) teller.ended(await totalsOf(indexes, runId))
  return !hasFailed(pipeline)
}

async function withRun({ config, types }: Chosen, options: StartOptions, logger: Logger): Promise<WholeConfig> {
  return { config: await withRunId(await withRunChoice(config, options), logger), types }
}

/** What is not there yet is waited for, as the services do; null where somebody interrupts first. */
async function waitedFor<T>(work: () => Promise<T>, interrupted: AbortSignal): Promise<T | null> {
  for (let failures = 0; !interrupted.aborted; failures++) {
    try {
      return await work()
    } catch (error) {
      if (!isEnvironmentFault(error)) throw error
      await pauseFor(backoffMs(failures), interrupted)
    }
  }
  return null
}

function ingestOf({ ingest }: Chosen, { ingestedRun }: StartOptions, pipeline: Pipeline): Pick<Started, 'ingest'> {
  if (ingest === undefined || ingestedRun === undefined) return {}
  const { ticks, metadata } = ingest
  return {
    ingest: {
      ticks: pipeline.guardedOutlet<EncodedTick>(ticks),
      ...(metadata !== undefined && { metadata: pipeline.outlet<EncodedMetadata>(metadata) }),
      runId: ingestedRun,
    },
  }
}

/** One that can't be loaded is in its indexer's errors; what others have written can be read all the same. */
async function strategiesOf({ services, folder }: CheckedConfig): Promise<EnvironmentStrategy[]> {
  // Also of those that run on another machine: their ticks are read here.
  const indexers = services.filter(({ type }) => type === 'environment-indexer')
  const loading = indexers.map(({ name, options }) => {
    const checked = checkOptions(`services.${name}.options`, options, environmentIndexer.options)
    const { strategy, compression, level, strategyOptions } = checked
    return loadEnvironmentStrategy(strategy, { compression, level, ...strategyOptions }, folder)
  })
  const loaded = await Promise.allSettled(loading)
  return loaded.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
}

async function showAgainAndAgain(show: () => Promise<void>, everyMs: number, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await show()
    await pauseFor(everyMs, until)
  }
}

/** A server shows one of them: that named 'runs', or the first. */
function indexesOf({ resources: { indexes } }: CheckedConfig): Pick<Started, 'indexes'> {
  const index = indexes.runs ?? Object.values(indexes)[0]
  return index === undefined ? {} : { indexes: index.address }
}

const hasFailed = (pipeline: Pipeline): boolean => pipeline.status().services.some(({ state }) => state === 'ERROR')
