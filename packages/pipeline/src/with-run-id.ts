import type { Logger } from 'tidemark'
import type { CheckedConfig, CheckedService } from './config/config.ts'
import { checkOptions } from './config/option-table.ts'
import { isRunId, makeRunId } from './run-id.ts'
import { readMetadataFile } from './services/ingest/ingest-service.ts'
import { resolveServiceType } from './services/registry.ts'
import { findSavedRun } from './services/simulation/choose-run.ts'
import { choiceOf, simulation } from './services/types/simulation.ts'

/**
 * One run for the whole pipeline: the one its simulation continues, or a new one, or the one that its ingest reads.
 * Otherwise an indexer would wait for a run that starts after it, while the source continues an older one. A service
 * with its own run keeps it.
 */
export async function withRunId(config: CheckedConfig, logger: Logger): Promise<CheckedConfig> {
  const simulations = config.services.filter(({ type, enabled }) => type === 'simulation' && enabled)
  const [only] = simulations
  if (only === undefined) {
    const ingested = await runOfIngest(config)
    return ingested === undefined ? config : await giveRun(config, ingested)
  }
  if (simulations.length > 1) return config
  const runId = await runIdOf(only, logger)
  if (runId === null) return config
  const given = await giveRun(config, runId)
  return {
    ...given,
    // From now on it is that run, new or not: a restart of the service continues it.
    services: given.services.map(service =>
      service.name === only.name ? { ...service, options: { ...service.options, runId, resume: 'newest' } } : service,
    ),
  }
}

/** The run whose metadata the only ingest of the configuration reads; undefined if it is unknown. */
export async function runOfIngest(config: CheckedConfig): Promise<string | undefined> {
  const [only, ...others] = config.services.filter(({ type, enabled }) => type === 'ingest' && enabled)
  const { metadataFile } = only?.options ?? {}
  if (typeof metadataFile !== 'string' || others.length > 0) return undefined
  // An unreadable or invalid file is reported by the service itself when it starts.
  const metadata = await readMetadataFile(metadataFile).catch(() => undefined)
  return isRunId(metadata?.runId) ? metadata.runId : undefined
}

/** Every service that takes a run and has none works on this one. */
export async function giveRun(config: CheckedConfig, runId: string): Promise<CheckedConfig> {
  return await withDefault(config, 'runId', runId)
}

/** Every indexer that has no run works on the newest after this one. */
export async function giveAfterRun(config: CheckedConfig, afterRun: string): Promise<CheckedConfig> {
  return await withDefault(config, 'afterRun', afterRun)
}

async function withDefault(config: CheckedConfig, option: 'runId' | 'afterRun', runId: string): Promise<CheckedConfig> {
  const services = config.services.map(async service => {
    const isOpen = service.options[option] === undefined && (await hasOption(service, option, config.folder))
    return isOpen ? { ...service, options: { ...service.options, [option]: runId } } : service
  })
  return { ...config, services: await Promise.all(services) }
}

/** null: its settings or its folder are wrong, which the service itself reports when it starts. */
async function runIdOf({ name, options }: CheckedService, logger: Logger): Promise<string | null> {
  try {
    const choice = choiceOf(checkOptions(`services.${name}.options`, options, simulation.options))
    return (await findSavedRun(choice))?.record.runId ?? choice.runId ?? makeRunId()
  } catch (error) {
    logger.debug({ service: name, err: error }, 'the run id of the simulation is not known yet')
    return null
  }
}

/** A simulation creates its own run. A type that can't be loaded is a failure of its service. */
async function hasOption({ type, enabled }: CheckedService, option: string, folder: string): Promise<boolean> {
  if (type === 'simulation' || !enabled) return false
  const resolved = await resolveServiceType(type, folder).catch(() => undefined)
  return resolved !== undefined && Object.hasOwn(resolved.options, option)
}
