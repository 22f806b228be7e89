import { ConfigError } from 'tidemark'
import { type OptionTable, requireObject, rule } from '../../config/option-table.ts'
import { isStrategy, loadEnvironmentStrategy, SINGLE_BLOB, STRATEGIES } from '../../environment/load-strategy.ts'
import { environmentIndexer as definition } from '../indexing/environment-indexer.ts'
import { defineServiceType } from '../service-type.ts'
import {
  BATCH_INDEXER_BINDINGS,
  BATCH_INDEXER_OPTIONS,
  checkBatchIndexer,
  createBatchIndexer,
} from './batch-indexer-options.ts'
import { PACKING_OPTIONS } from './packing-options.ts'

const STRATEGY_OPTIONS = {
  strategy: rule(
    {
      says: 'Storage strategy of the cells: one blob per tick, or the path of a module of yours, relative to the configuration file.',
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
    { says: 'Options passed to a custom strategy, along with `compression` and `level`.', default: {} },
    'an object',
    requireObject,
  ),
} as const satisfies OptionTable

export const environmentIndexerType = defineServiceType({
  says: 'Indexes the cells of every tick, to read a tick, a region, a cell or a difference.',
  options: { ...BATCH_INDEXER_OPTIONS, ...STRATEGY_OPTIONS },
  bindings: BATCH_INDEXER_BINDINGS,
  check: checkBatchIndexer,
  async create(build) {
    const { strategy: name, compression, level, strategyOptions, metricsWindow } = build.options
    const strategy = await loadEnvironmentStrategy(name, { compression, level, ...strategyOptions }, build.folder)
    return createBatchIndexer(definition({ strategy, metricsWindow }), build)
  },
})
