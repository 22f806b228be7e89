import { makeRunId } from '../../run-id.ts'
import type { SimulationOptions, SimulationSettings } from '../../sources/simulation/settings.ts'
import { toSettings } from '../../sources/simulation/settings.ts'
import { SimulationRunError } from './errors.ts'
import { RunFolder } from './run-folder.ts'

/** Which run a simulation produces. */
export type RunChoice = {
  /** Folder of the states of runs. */
  readonly folder: string
  /** Options of the simulation. */
  readonly simulation: SimulationOptions
  /** Ticks between two that are emitted. */
  readonly samplingInterval: number
  /** Id of a new run (default: a new id). */
  readonly runId?: string | undefined
  /**
   * Run to resume. 'newest': the newest run with the same settings, or a new one where there is none. A run id: that
   * run, and no other. false: a new run.
   */
  readonly resume: 'newest' | false | (string & {})
}

/** The run to continue, or a new one. */
export async function chooseRun(choice: RunChoice): Promise<RunFolder> {
  return (await findSavedRun(choice)) ?? (await begin(choice))
}

/** The run to continue; null: a new one begins. */
export async function findSavedRun(choice: RunChoice): Promise<RunFolder | null> {
  const { folder, resume, runId } = choice
  if (resume === false) {
    if (runId !== undefined) await refuseExisting(folder, runId)
    return null
  }
  if (resume !== 'newest') return await goOn(choice, resume)
  if (runId !== undefined) return (await RunFolder.open(folder, runId)) && (await goOn(choice, runId))
  for (const candidate of await RunFolder.list(folder)) {
    const run = await RunFolder.open(folder, candidate)
    if (run !== null && differencesOf(choice, run).length === 0) return run
  }
  return null
}

async function begin({ folder, simulation, samplingInterval, runId }: RunChoice): Promise<RunFolder> {
  const now = Date.now()
  const settings = toSettings({ startedAt: now, ...simulation })
  return await RunFolder.create(folder, { runId: runId ?? makeRunId(now), samplingInterval, settings })
}

async function refuseExisting(folder: string, runId: string): Promise<void> {
  if ((await RunFolder.open(folder, runId)) === null) return
  throw new SimulationRunError(
    `Run ${runId} exists already. To continue it, set resume: '${runId}'; otherwise use another id`,
  )
}

async function goOn(choice: RunChoice, runId: string): Promise<RunFolder> {
  const run = await RunFolder.open(choice.folder, runId)
  if (run === null) throw new SimulationRunError(`There is no run ${runId} in ${choice.folder} to continue`)
  const differences = differencesOf(choice, run)
  if (differences.length === 0) return run
  throw new SimulationRunError(
    `Run ${runId} can't continue with other settings: ${differences.join('; ')}. Restore the settings, or start a new run`,
  )
}

/**
 * Ticks produced with other settings would belong to another world. The start of the run counts only if it is given.
 */
function differencesOf({ simulation, samplingInterval }: RunChoice, { record }: RunFolder): string[] {
  const wanted = toSettings({ startedAt: record.settings.startedAt, ...simulation })
  const names = Object.keys(wanted) as (keyof SimulationSettings)[]
  const differing = names.filter(name => JSON.stringify(wanted[name]) !== JSON.stringify(record.settings[name]))
  const differences = differing.map(name => `${name} was ${JSON.stringify(record.settings[name])}`)
  if (samplingInterval !== record.samplingInterval) differences.push(`samplingInterval was ${record.samplingInterval}`)
  return differences
}
