import { seriesIndexer as definition } from '../indexing/series-indexer.ts'
import { defineIndexerType } from './indexer-type.ts'

export const seriesIndexerType = defineIndexerType(
  definition,
  'Indexes time series for plots: living organisms, births, deaths, energy and cells by type, at several resolutions.',
)
