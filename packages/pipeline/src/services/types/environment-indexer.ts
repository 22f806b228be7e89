import { ConfigError } from 'tidemark'
import { type OptionTable, requireObject, rule } from '../../config/option-table.ts'
import { isStrategy, loadEnvironmentStrategy, SINGLE_BLOB, STRATEGIES } from '../../environment/load-strategy.ts'
import { environmentIndexer as definition } from '../indexing/environment-indexer.ts'
import { defineService } from '../service-type.ts'
import { BATCH_INDEXER_BINDINGS, BATCH_INDEXER_OPTIONS, createBatchIndexer } from './batch-indexer-options.ts'
import { PACKING_OPTIONS } from './packing-options.ts'

const STRATEGY_OPTIONS = {
  strategy: rule(
    {
      says: 'How the cells are kept: one row of bytes a tick, or as a module of your own does it, relative to the configuration file.',
      default: SINGLE_BLOB,
      isText: true,
    },
    STRATEGIES,
    (path, value) => {
      if (!isStrategy(value)) throw new ConfigError(path, value, STRATEGIES)
      return value
    },
  ),
  ...PACKING_OPTIONS,
  strategyOptions: rule(
    { says: 'For a strategy of your own, which gets them beside `compression` and `level`.', default: {} },
    'an object',
    requireObject,
  ),
} as const satisfies OptionTable

export const environmentIndexer = defineService({
  says: 'The cells of every tick, as they are: a tick, a region, a cell, a difference can be read from them.',
  options: { ...BATCH_INDEXER_OPTIONS, ...STRATEGY_OPTIONS },
  bindings: BATCH_INDEXER_BINDINGS,
  async create(build) {
    const { strategy: name, compression, level, strategyOptions, metricsWindow } = build.options
    const strategy = await loadEnvironmentStrategy(name, { compression, level, ...strategyOptions }, build.folder)
    return await createBatchIndexer(definition({ strategy, metricsWindow }), build)
  },
})
