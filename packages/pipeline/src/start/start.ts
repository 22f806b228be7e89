import type { Logger, Tidemark } from 'tidemark'
import { checkConfig } from '../config/check-config.ts'
import type { CheckedConfig } from '../config/config.ts'
import { defaultConfig } from '../config/default-config.ts'
import { withOverrides } from '../config/environment-overrides.ts'
import { checkOptions, requireObject } from '../config/option-table.ts'
import type { EncodedTick } from '../contracts/tick-codec.ts'
import { lockFolder } from '../databases/folder-lock.ts'
import type { Bytes } from '../disk/bytes.ts'
import { loadEnvironmentStrategy } from '../environment/load-strategy.ts'
import type { EnvironmentStrategy } from '../environment/strategy.ts'
import { isEnvironmentFault } from '../faults.ts'
import type { Outlet } from '../resources/bound-resources.ts'
import { type Pipeline, runPipeline } from '../run-pipeline.ts'
import type { EncodedMetadata } from '../services/simulation/simulation-service.ts'
import { environmentIndexer } from '../services/types/environment-indexer.ts'
import { backoffMs, pauseFor } from '../services/until-aborted.ts'
import { withRunId } from '../with-run-id.ts'
import { lastTickAfter, lastTickOf } from './last-tick.ts'
import { type Indexers, ProgressReader } from './progress.ts'
import { RecentProblems } from './recent-problems.ts'
import { tellerFor } from './tellers.ts'
import { totalsOf } from './totals.ts'

const ASK_MS = 50

/** What runs, for whoever serves it. */
export type Started = {
  readonly pipeline: Pipeline
  readonly topics: Tidemark
  /** The address of the runs' indexes. */
  readonly indexes: string
  /** Where the ticks of an ingested run go. */
  readonly ingest?: {
    readonly ticks: Outlet<EncodedTick>
    readonly metadata: Outlet<EncodedMetadata>
    readonly runId: string
  }
  /** Those of the environment indexers. */
  readonly environmentStrategy: readonly EnvironmentStrategy[]
  readonly logger: Logger
}

export type StartOptions = {
  readonly dataFolder: string
  /** Begins a new run, where it would go on with the newest. */
  readonly newRun: boolean
  /** How many more; undefined: until it is interrupted. */
  readonly ticks: number | undefined
  /** A run whose ticks come through whoever serves it, in place of a simulation. */
  readonly ingestedRun?: string | undefined
  /** Disk budget, in place of the configuration's; 'none': without one. */
  readonly maxDisk?: Bytes | undefined
  readonly format: 'text' | 'json'
  /** Ends it in good order. */
  readonly interrupted: AbortSignal
  /** Makes it seen at an address, until it ends. */
  readonly serve?: (started: Started) => Promise<AsyncDisposable & { readonly url: string }>
}

/** Runs the default pipeline until it is interrupted or its run is over. False where a service has failed. */
export async function start(options: StartOptions): Promise<boolean> {
  const { dataFolder, interrupted } = options
  const teller = tellerFor(options.format)
  const problems = new RecentProblems(text => teller.problem(text))
  const { logger } = problems
  // Before anything is looked at: whose run it is, and up to which tick, would change while the other goes on.
  using _lock = await lockFolder(dataFolder)
  const config = await withRunId(await configOf(options), logger)
  const indexedBy = runOf(config)
  const { runId } = indexedBy
  const pipeline = await runPipeline(config, { logger })
  try {
    const topics = await topicsOf(pipeline, interrupted)
    if (topics === null) return !hasFailed(pipeline)
    const indexes = indexOf(config).address
    const environmentStrategy = await strategiesOf(config)
    const shared = { pipeline, topics, indexes, environmentStrategy, logger }
    await using served = await options.serve?.({ ...shared, ...ingestOf(options, pipeline) })
    const reader = new ProgressReader(pipeline, topics, indexedBy)
    const show = async (): Promise<void> => teller.progress(await reader.read(), problems.recent)
    teller.begun(runId, served?.url)
    const done = new AbortController()
    const showing = showAgainAndAgain(show, teller.everyMs, done.signal)
    try {
      await runOver(pipeline, lastTickOf(config), interrupted)
      await finish(pipeline, indexedBy.indexers, reader, interrupted)
    } finally {
      done.abort()
      await showing
    }
    await pipeline.services.stop()
    await show()
  } finally {
    await pipeline.stop()
  }
  if (runId !== '') teller.ended(await totalsOf(indexOf(config).address, runId))
  return !hasFailed(pipeline)
}

async function configOf(options: StartOptions): Promise<CheckedConfig> {
  const { dataFolder, newRun, ticks, ingestedRun, maxDisk } = options
  const config = (lastTick?: number): CheckedConfig => {
    const ends = { ...(lastTick !== undefined && { lastTick }), ...(ingestedRun !== undefined && { ingestedRun }) }
    const given = defaultConfig({ dataFolder, newRun, ...ends })
    const overridden = requireObject('config', withOverrides(given, process.env))
    return checkConfig({ ...overridden, ...(maxDisk !== undefined && { maxDisk }) }, process.cwd())
  }
  return ticks === undefined ? config() : config(await lastTickAfter(ticks, config()))
}

/** The run, and who index its batches: as services, and as consumer groups. */
function runOf({ services }: CheckedConfig): Indexers {
  const indexers = services.flatMap(({ name, enabled, bindings: { batches }, options }) =>
    enabled && batches?.kind === 'topic-read' ? [{ name, group: batches.consumerGroup, runId: options.runId }] : [],
  )
  const runId = String(indexers[0]?.runId ?? '')
  return {
    runId,
    indexers: indexers.map(({ name }) => name),
    groups: indexers.map(({ group }) => group),
  }
}

/** Topics that are not there yet are waited for, as the services do; null where somebody interrupts first. */
async function topicsOf(pipeline: Pipeline, interrupted: AbortSignal): Promise<Tidemark | null> {
  for (let failures = 0; !interrupted.aborted; failures++) {
    try {
      return await pipeline.topics()
    } catch (error) {
      if (!isEnvironmentFault(error)) throw error
      await pauseFor(backoffMs(failures), interrupted)
    }
  }
  return null
}

function ingestOf({ ingestedRun }: StartOptions, pipeline: Pipeline): Pick<Started, 'ingest'> {
  if (ingestedRun === undefined) return {}
  const queues = {
    ticks: pipeline.guardedOutlet<EncodedTick>('ticks'),
    metadata: pipeline.outlet<EncodedMetadata>('metadata'),
  }
  return { ingest: { ...queues, runId: ingestedRun } }
}

/** One that can't be loaded is in its indexer's errors; what others have written can be read all the same. */
async function strategiesOf({ services, folder }: CheckedConfig): Promise<EnvironmentStrategy[]> {
  const indexers = services.filter(({ type, enabled }) => type === 'environment-indexer' && enabled)
  const loading = indexers.map(({ name, options }) => {
    const checked = checkOptions(`services.${name}.options`, options, environmentIndexer.options)
    const { strategy, compression, level, strategyOptions } = checked
    return loadEnvironmentStrategy(strategy, { compression, level, ...strategyOptions }, folder)
  })
  const loaded = await Promise.allSettled(loading)
  return loaded.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
}

/**
 * Over is a run that has come to its last tick, or whose simulation could not start in the first place. One that was stopped, or
 * failed later, can be started again by whoever operates it: only an interrupt ends that. Ticks from elsewhere have no end
 * that could be known here.
 */
async function runOver(pipeline: Pipeline, lastTick: number | undefined, interrupted: AbortSignal): Promise<void> {
  if (pipeline.report.failed.some(({ service }) => service === 'simulation')) return
  while (!interrupted.aborted && !hasEnded(pipeline, lastTick)) await pauseFor(ASK_MS, interrupted)
}

/** A run that is to end with a certain tick ends with an error too: nobody has to be there to see to it. */
function hasEnded({ services }: Pipeline, lastTick: number | undefined): boolean {
  if (lastTick === undefined || !services.names.includes('simulation')) return false
  const { state, metrics } = services.statusOf('simulation')
  return state === 'ERROR' || (state === 'STOPPED' && (metrics.tick ?? 0) >= lastTick)
}

/** After its last tick: stored, announced and in the index. Someone who interrupts need not wait; the next start goes on. */
async function finish(
  pipeline: Pipeline,
  indexers: readonly string[],
  reader: ProgressReader,
  interrupted: AbortSignal,
): Promise<void> {
  // Without a simulation there may be no run to wait for.
  if (interrupted.aborted || pipeline.services.statusOf('simulation').state === 'ERROR') return
  // They store what is left in the queues, however long that takes, and end. A stop would leave them one attempt.
  pipeline.endQueues()
  const writers = ['persistence', 'metadata-persistence']
  while (!interrupted.aborted && writers.some(name => isRunning(pipeline, name))) await pauseFor(ASK_MS, interrupted)
  // One that somebody has stopped is waited for: it can be started again. One that failed is not.
  const isAnyFailed = (names: readonly string[]): boolean =>
    names.some(name => pipeline.services.statusOf(name).state === 'ERROR')
  while (!interrupted.aborted && !isAnyFailed(indexers)) {
    const isStored = pipeline.queued() === 0 || isAnyFailed(writers)
    if (isStored && (await reader.isDone())) return
    await pauseFor(ASK_MS, interrupted)
  }
}

async function showAgainAndAgain(show: () => Promise<void>, everyMs: number, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await show()
    await pauseFor(everyMs, until)
  }
}

const indexOf = ({ resources }: CheckedConfig) => resources.indexes.runs ?? { address: '' }

const isRunning = (pipeline: Pipeline, name: string): boolean =>
  !['STOPPED', 'ERROR'].includes(pipeline.services.statusOf(name).state)

const hasFailed = (pipeline: Pipeline): boolean => pipeline.status().services.some(({ state }) => state === 'ERROR')
