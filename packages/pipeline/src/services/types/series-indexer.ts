import { seriesIndexer as definition } from '../indexing/series-indexer.ts'
import { defineService } from '../service-type.ts'
import { BATCH_INDEXER_BINDINGS, BATCH_INDEXER_OPTIONS, createBatchIndexer } from './batch-indexer-options.ts'

export const seriesIndexer = defineService({
  says: 'Indexes time series for plots: living organisms, births, deaths, energy and cells by type, at several resolutions.',
  options: BATCH_INDEXER_OPTIONS,
  bindings: BATCH_INDEXER_BINDINGS,
  create: build => createBatchIndexer(definition, build),
})
