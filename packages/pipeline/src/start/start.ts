import { setTimeout as delay } from 'node:timers/promises'
import { type Logger, open, type Tidemark } from 'tidemark'
import { checkConfig } from '../config/check-config.ts'
import type { CheckedConfig } from '../config/config.ts'
import { defaultConfig } from '../config/default-config.ts'
import { withOverrides } from '../config/environment-overrides.ts'
import { contractsRegistry } from '../contracts/notifications.ts'
import type { EncodedTick } from '../contracts/tick-codec.ts'
import { lockFolder } from '../databases/folder-lock.ts'
import { openIndex } from '../databases/open-index.ts'
import type { Outlet } from '../resources/bound-resources.ts'
import { type Pipeline, runPipeline } from '../run-pipeline.ts'
import { type DummyTotals, readDummyTotals } from '../services/indexing/dummy-indexer.ts'
import type { EncodedMetadata } from '../services/simulation/simulation-service.ts'
import { withRunId } from '../with-run-id.ts'
import { lastTickAfter } from './last-tick.ts'
import { ProgressReader } from './progress.ts'
import { RecentProblems } from './recent-problems.ts'
import { tellerFor } from './tellers.ts'

const ASK_MS = 50
const NOTHING = { ticks: 0, batches: 0, cells: 0, organisms: 0 }

/** What runs, for whoever serves it. */
export type Started = {
  readonly pipeline: Pipeline
  readonly topics: Tidemark
  /** The address of the runs' indexes. */
  readonly indexes: string
  /** Where the ticks of an ingested run go. */
  readonly ingest?: { readonly ticks: Outlet<EncodedTick>; readonly metadata: Outlet<EncodedMetadata> }
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
  readonly format: 'text' | 'json'
  /** Ends it in good order. */
  readonly interrupted: AbortSignal
  /** Makes it seen at an address, until it ends. */
  readonly serve?: (started: Started) => Promise<AsyncDisposable & { readonly url: string }>
}

/** Runs the default pipeline until it is interrupted or its simulation is over. False where a service has failed. */
export async function start(options: StartOptions): Promise<boolean> {
  const { dataFolder, interrupted } = options
  const teller = tellerFor(options.format)
  const problems = new RecentProblems(text => teller.problem(text))
  const { logger } = problems
  // Before anything is looked at: whose run it is, and up to which tick, would change while the other goes on.
  using _lock = await lockFolder(dataFolder)
  const config = await withRunId(await configOf(options), logger)
  const { runId, indexers, groups } = runOf(config)
  const pipeline = await runPipeline(config, { logger })
  try {
    await using topics = await open(topicsUrl(config), { registry: contractsRegistry, maintenance: false, logger })
    const indexes = indexOf(config).address
    await using served = await options.serve?.({ pipeline, topics, indexes, logger, ...ingestOf(options, pipeline) })
    const reader = new ProgressReader(pipeline, topics, groups)
    const show = async (): Promise<void> => teller.progress(await reader.read(), problems.recent)
    teller.begun(runId, served?.url)
    const done = new AbortController()
    const showing = showAgainAndAgain(show, teller.everyMs, done.signal)
    try {
      await simulationOver(pipeline, interrupted)
      await finish(pipeline, indexers, reader, interrupted)
    } finally {
      done.abort()
      await showing
    }
    await pipeline.services.stop()
    await show()
  } finally {
    await pipeline.stop()
  }
  if (runId !== '') teller.ended(await totalsOf(config, runId))
  return !hasFailed(pipeline)
}

async function configOf({ dataFolder, newRun, ticks, ingestedRun }: StartOptions): Promise<CheckedConfig> {
  const config = (lastTick?: number): CheckedConfig => {
    const ends = { ...(lastTick !== undefined && { lastTick }), ...(ingestedRun !== undefined && { ingestedRun }) }
    const given = defaultConfig({ dataFolder, newRun, ...ends })
    return checkConfig(withOverrides(given, process.env), process.cwd())
  }
  return ticks === undefined ? config() : config(await lastTickAfter(ticks, config()))
}

type IndexedBy = { readonly runId: string; readonly indexers: readonly string[]; readonly groups: readonly string[] }

/** The run, and who index its batches: as services, and as consumer groups. */
function runOf({ services }: CheckedConfig): IndexedBy {
  const indexers = services.flatMap(({ name, enabled, bindings: { batches }, options }) =>
    enabled && batches?.kind === 'topic-read' ? [{ name, group: batches.consumerGroup, runId: options.runId }] : [],
  )
  const runId = String(indexers[0]?.runId ?? '')
  return {
    runId,
    indexers: indexers.map(({ name }) => name),
    groups: indexers.map(({ group }) => `${group}.${runId}`),
  }
}

const topicsUrl = ({ resources }: CheckedConfig): string => resources.topics?.url ?? ''

function ingestOf({ ingestedRun }: StartOptions, pipeline: Pipeline): Pick<Started, 'ingest'> {
  if (ingestedRun === undefined) return {}
  return { ingest: { ticks: pipeline.outlet('ticks'), metadata: pipeline.outlet('metadata') } }
}

/** Ticks from elsewhere have no end that could be known here. */
async function simulationOver(pipeline: Pipeline, interrupted: AbortSignal): Promise<void> {
  const isIngested = !pipeline.services.status().some(({ name }) => name === 'simulation')
  while (!interrupted.aborted && (isIngested || isRunning(pipeline, 'simulation'))) await pause(ASK_MS, interrupted)
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
  // Their stop writes what is left in the queues.
  for (const name of ['persistence', 'metadata-persistence']) await pipeline.services.stop(name)
  while (!interrupted.aborted && indexers.every(name => isRunning(pipeline, name))) {
    if (await reader.isDone()) return
    await pause(ASK_MS, interrupted)
  }
}

async function showAgainAndAgain(show: () => Promise<void>, everyMs: number, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await show()
    await pause(everyMs, until)
  }
}

const indexOf = ({ resources }: CheckedConfig) => resources.indexes.runs ?? { address: '' }

async function totalsOf(config: CheckedConfig, runId: string): Promise<DummyTotals> {
  const { address, ...options } = indexOf(config)
  await using index = await openIndex(address, runId, options)
  // Stopped so soon that the indexer had not made its tables: nothing is indexed.
  return await readDummyTotals(index).catch(() => NOTHING)
}

const isRunning = (pipeline: Pipeline, name: string): boolean =>
  ['RUNNING', 'PAUSED'].includes(pipeline.services.statusOf(name).state)

const hasFailed = (pipeline: Pipeline): boolean => pipeline.status().services.some(({ state }) => state === 'ERROR')

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined)
}
