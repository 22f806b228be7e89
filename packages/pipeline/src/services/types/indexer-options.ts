import type { Logger } from 'tidemark'
import { type CheckedOptions, duration, type OptionTable, runId } from '../../config/option-table.ts'
import type { BoundResources } from '../../resources/bound-resources.ts'
import type { IndexerOptions } from '../indexing/indexer.ts'

/** Which run: the same for all indexers. */
export const RUN_OPTIONS = {
  runId: runId({
    says: 'Run to index.',
    otherwise: "the simulation's run; without a simulation, the newest run that starts later",
  }),
  afterRun: runId({
    says: 'Run after which the newest is indexed, where there is no `runId`.',
    otherwise: 'with `tidemark start`, the newest run that is stored when it starts',
  }),
  discoveryInterval: duration({ says: 'Interval at which to look for a run.', min: 1, default: '1s' }),
} as const satisfies OptionTable

/** The common parts of every indexer. */
export function indexerOptions(
  { runId, afterRun, discoveryInterval }: CheckedOptions<typeof RUN_OPTIONS>,
  resources: BoundResources,
  logger: Logger,
): IndexerOptions {
  const { address, options } = resources.index('index')
  return {
    storage: resources.storage('storage'),
    index: address,
    indexOptions: options,
    discoveryInterval,
    logger,
    ...(runId !== undefined && { runId }),
    ...(afterRun !== undefined && { afterRun }),
  }
}
