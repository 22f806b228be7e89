import { dummyIndexer as definition } from '../indexing/dummy-indexer.ts'
import { defineService } from '../service-type.ts'
import { BATCH_INDEXER_BINDINGS, BATCH_INDEXER_OPTIONS, createBatchIndexer } from './batch-indexer-options.ts'

export const dummyIndexer = defineService({
  says: 'Counts batches, ticks, cells and organisms.',
  options: BATCH_INDEXER_OPTIONS,
  bindings: BATCH_INDEXER_BINDINGS,
  create: build => createBatchIndexer(definition, build),
})
