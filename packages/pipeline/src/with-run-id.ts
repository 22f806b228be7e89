import type { Logger } from 'tidemark'
import type { CheckedConfig, CheckedService } from './config/config.ts'
import { checkOptions } from './config/option-table.ts'
import { makeRunId } from './run-id.ts'
import { BUILT_IN_TYPES } from './services/registry.ts'
import { findRun } from './services/simulation/choose-run.ts'
import { choiceOf, simulation } from './services/types/simulation.ts'

/**
 * One run for the whole pipeline: the one its simulation goes on with, or a new one. Without that, an indexer would wait
 * for a run that starts after it, while the simulation goes on with an older one. A service with a run of its own keeps
 * it.
 */
export async function withRunId(config: CheckedConfig, logger: Logger): Promise<CheckedConfig> {
  const simulations = config.services.filter(({ type, enabled }) => type === 'simulation' && enabled)
  const [only] = simulations
  if (only === undefined || simulations.length > 1) return config
  const runId = await runIdOf(only, logger)
  return runId === null
    ? config
    : { ...config, services: config.services.map(service => withRun(service, only, runId)) }
}

/** null: its settings or its folder are wrong, which the service itself says when it starts. */
async function runIdOf({ name, options }: CheckedService, logger: Logger): Promise<string | null> {
  try {
    const choice = choiceOf(checkOptions(`services.${name}.options`, options, simulation.options))
    return (await findRun(choice))?.record.runId ?? choice.runId ?? makeRunId()
  } catch (error) {
    logger.debug({ service: name, err: error }, 'the run of the simulation is not known yet')
    return null
  }
}

function withRun(service: CheckedService, simulating: CheckedService, runId: string): CheckedService {
  const { type, options } = service
  // From now on it is that run, new or not: a restart of the service goes on with it.
  if (service === simulating) return { ...service, options: { ...options, runId, resume: 'newest' } }
  const builtIn = Object.entries(BUILT_IN_TYPES).find(([name]) => name === type)?.[1]
  const takesRun = builtIn !== undefined && 'runId' in builtIn.options && options.runId === undefined
  return takesRun ? { ...service, options: { ...options, runId } } : service
}
