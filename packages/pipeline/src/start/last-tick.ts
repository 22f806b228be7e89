import type { CheckedConfig } from '../config/config.ts'
import { checkOptions } from '../config/option-table.ts'
import { findSavedRun } from '../services/simulation/choose-run.ts'
import { StoredRanges } from '../services/stored-ranges.ts'
import { choiceOf, simulation } from '../services/types/simulation.ts'
import { openStorage } from '../storage/open-storage.ts'

/** Tick at which `more` ticks have been produced, counted from what is stored, so that a crash does not reduce them. */
export async function lastTickAfter(more: number, config: CheckedConfig): Promise<number> {
  const service = config.services.find(({ type, enabled }) => type === 'simulation' && enabled)
  const storage = service && config.resources.storages[service.bindings.storage?.name ?? '']
  if (service === undefined || storage === undefined) return more
  const run = await findSavedRun(choiceOf(checkOptions('simulation', service.options, simulation.options)))
  if (run === null) return more
  const { runId, samplingInterval } = run.record
  const stored = await StoredRanges.of(await openStorage(storage), runId, samplingInterval)
  return Math.max(0, stored.wholeUpTo) + more
}
