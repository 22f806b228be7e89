import { resolve } from 'node:path'
import { ConfigError } from 'tidemark'
import { checkConfig } from '../config/check-config.ts'
import { checkWiring, withTypes } from '../config/check-whole.ts'
import type { CheckedConfig, CheckedService } from '../config/config.ts'
import { defaultConfig } from '../config/default-config.ts'
import { withOverrides } from '../config/environment-overrides.ts'
import { ofFile, readConfig } from '../config/load-config.ts'
import type { WholeConfig } from '../config/whole-config.ts'
import type { Bytes } from '../disk/bytes.ts'
import { makeRunId } from '../run-id.ts'
import { UnknownServiceError } from '../services/errors.ts'
import type { Keep } from '../services/retention/keep.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { giveAfterRun, giveRun, runOfIngest } from '../with-run-id.ts'
import { lastTickAfter } from './last-tick.ts'

/** Which pipeline to run. */
export type ConfigChoice = {
  /** Configuration file (default: the whole pipeline on this machine, in `dataFolder`). */
  readonly configFile?: string | undefined
  /** Folder of the default pipeline. */
  readonly dataFolder: string
  /** Whether a new run begins instead of continuing the newest. */
  readonly newRun: boolean
  /** Number of ticks to produce (default: until it is interrupted). */
  readonly ticks: number | undefined
  /** Run whose ticks are received instead of simulated. */
  readonly ingestedRun?: string | undefined
  /** Disk budget instead of the configured one, or 'none'. */
  readonly maxDisk?: Bytes | undefined
  /** How much of the run is kept, instead of the configured setting. */
  readonly keep?: Keep | undefined
  /** Services to run; the others are left out. */
  readonly only?: readonly string[]
  /** A run id, `'newest'` (of the stored runs) or `'next'` (the next one to start). */
  readonly run?: string | undefined
}

/** Queues for ticks from outside. */
export type IngestQueues = {
  /** Name of the queue of ticks. */
  readonly ticks: string
  /** Name of the queue of metadata, if there is one. */
  readonly metadata: string | undefined
}

export type Chosen = WholeConfig & {
  readonly ingest: IngestQueues | undefined
  /** Folders that only one process may use, because another one would change the run and its last tick. */
  readonly locks: readonly string[]
}

/** Checks the whole configuration, without the services that the caller leaves out. */
export async function chooseConfig(choice: ConfigChoice): Promise<Chosen> {
  const { configFile } = choice
  if (configFile === undefined) return chosen(await defaultWhole(choice), choice)
  const whole = await readConfig(configFile)
  return await ofFile(resolve(configFile), async () => chosen(whole, choice))
}

function chosen({ config: given, types }: WholeConfig, choice: ConfigChoice): Chosen {
  const config = withDisk(withOnly(withIngest(given, choice), choice), choice)
  const ingest = choice.ingestedRun === undefined ? undefined : ingestQueues(config)
  const fedQueues =
    ingest === undefined ? [] : [ingest.ticks, ...(ingest.metadata === undefined ? [] : [ingest.metadata])]
  checkWiring({ config, types }, { fedQueues })
  return { config, types, ingest, locks: locksOf(config, choice) }
}

async function defaultWhole({ dataFolder, newRun, ingestedRun }: ConfigChoice): Promise<WholeConfig> {
  const given = defaultConfig({ dataFolder, newRun, ...(ingestedRun !== undefined && { ingestedRun }) })
  return await withTypes(checkConfig(withOverrides(given, process.env), process.cwd()))
}

/** Ticks come from outside: services that would produce some are left out. */
function withIngest(config: CheckedConfig, { ingestedRun }: ConfigChoice): CheckedConfig {
  if (ingestedRun === undefined) return config
  return changed(config, service => isSource(service), { enabled: false })
}

const withDisk = (config: CheckedConfig, choice: ConfigChoice): CheckedConfig => {
  const { maxDisk = config.maxDisk, keep = config.keep } = choice
  return { ...config, maxDisk, keep }
}

function withOnly(config: CheckedConfig, { only }: ConfigChoice): CheckedConfig {
  if (only === undefined || only.length === 0) return config
  const names = config.services.map(({ name }) => name)
  for (const name of only) if (!names.includes(name)) throw new UnknownServiceError(name, names)
  return { ...config, services: config.services.map(service => ({ ...service, enabled: only.includes(service.name) })) }
}

/** Sets the requested run. Its folders are locked first, because another process could change what is read here. */
export async function withRunChoice(config: CheckedConfig, choice: ConfigChoice): Promise<CheckedConfig> {
  const { newRun, ticks, ingestedRun, run } = choice
  if (ingestedRun !== undefined) return await giveRun(config, ingestedRun)
  if (config.services.some(isEnabledSimulation)) {
    const resume = newRun ? false : run
    const begun = resume === undefined ? config : withOptions(config, { resume })
    return ticks === undefined ? begun : withOptions(begun, { maxTicks: await lastTickAfter(ticks, begun) })
  }
  const described = run === undefined ? await runOfIngest(config) : undefined
  if (described !== undefined) return await giveRun(config, described)
  if (run !== undefined && run !== 'newest' && run !== 'next') return await giveRun(config, run)
  // A source of this process begins its run after the indexers, by the same clock.
  if (config.services.some(service => service.enabled && isSource(service))) return config
  const newest = await newestRun(config)
  if (newest !== undefined && run !== 'next') return await giveRun(config, newest)
  // Another machine's clock may be behind, and its run may begin at this very moment.
  return await giveAfterRun(config, newest ?? FIRST_RUN)
}

/** Sorts before every run. */
const FIRST_RUN = makeRunId(0, '00000000-0000-0000-0000-000000000000')

/** Newest stored run, produced elsewhere. */
async function newestRun(config: CheckedConfig): Promise<string | undefined> {
  const services = config.services.filter(({ enabled }) => enabled)
  const bindings = services.flatMap(service => Object.values(service.bindings))
  const storage = config.resources.storages[bindings.find(({ kind }) => kind === 'storage-read')?.name ?? '']
  if (storage === undefined) return undefined
  const runs = await openStorage(storage)
  let newest: string | undefined
  for (let after: string | null = ''; after !== null; ) {
    const page: Awaited<ReturnType<Storage['listRuns']>> = await runs.listRuns(after === '' ? {} : { after })
    newest = page.items.at(-1) ?? newest
    after = page.next
  }
  return newest
}

function ingestQueues({ services }: CheckedConfig): IngestQueues {
  const queueOf = (type: string, binding: string): string | undefined =>
    services.find(service => service.type === type && service.enabled)?.bindings[binding]?.name
  const ticks = queueOf('persistence', 'ticks')
  if (ticks === undefined)
    throw new ConfigError(
      'services',
      'no persistence',
      "a service of type 'persistence', which accepts ticks over HTTP",
    )
  return { ticks, metadata: queueOf('metadata-persistence', 'metadata') }
}

function locksOf({ services }: CheckedConfig, { configFile, dataFolder, only = [] }: ConfigChoice): string[] {
  const simulations = services.filter(isEnabledSimulation)
  if (configFile !== undefined) return simulations.map(({ options }) => String(options.stateFolder))
  return only.length > 0 && simulations.length === 0 ? [] : [dataFolder]
}

const isEnabledSimulation = ({ type, enabled }: CheckedService): boolean => type === 'simulation' && enabled

const isSource = ({ type }: CheckedService): boolean => type === 'simulation' || type === 'ingest'

const withOptions = (config: CheckedConfig, options: object): CheckedConfig => ({
  ...config,
  services: config.services.map(service =>
    isEnabledSimulation(service) ? { ...service, options: { ...service.options, ...options } } : service,
  ),
})

const changed = (
  config: CheckedConfig,
  isMeant: (service: CheckedService) => boolean,
  change: Partial<CheckedService>,
): CheckedConfig => ({
  ...config,
  services: config.services.map(service => (isMeant(service) ? { ...service, ...change } : service)),
})
