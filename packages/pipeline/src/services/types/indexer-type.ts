import type { IndexerDefinition } from '../indexing/definition.ts'
import { defineServiceType } from '../service-type.ts'
import {
  BATCH_INDEXER_BINDINGS,
  BATCH_INDEXER_OPTIONS,
  checkBatchIndexer,
  createBatchIndexer,
} from './batch-indexer-options.ts'

/** An indexer of batches as a type of service, with the options and bindings that all of them have. */
export const defineIndexerType = (definition: IndexerDefinition, says = `The indexer '${definition.name}'.`) =>
  defineServiceType({
    says,
    options: BATCH_INDEXER_OPTIONS,
    bindings: BATCH_INDEXER_BINDINGS,
    check: checkBatchIndexer,
    create: build => createBatchIndexer(definition, build),
  })
