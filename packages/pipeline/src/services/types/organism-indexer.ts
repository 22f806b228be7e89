import { organismIndexer as definition } from '../indexing/organism-indexer.ts'
import { defineServiceType } from '../service-type.ts'
import {
  BATCH_INDEXER_BINDINGS,
  BATCH_INDEXER_OPTIONS,
  checkBatchIndexer,
  createBatchIndexer,
} from './batch-indexer-options.ts'
import { PACKING_OPTIONS } from './packing-options.ts'

export const organismIndexerType = defineServiceType({
  says: 'Indexes the life span and parents of organisms, and the organisms of every tick.',
  options: { ...BATCH_INDEXER_OPTIONS, ...PACKING_OPTIONS },
  bindings: BATCH_INDEXER_BINDINGS,
  check: checkBatchIndexer,
  create(build) {
    const { compression, level } = build.options
    return createBatchIndexer(definition({ compression, level }), build)
  },
})
