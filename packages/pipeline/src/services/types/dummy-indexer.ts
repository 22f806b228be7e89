import { dummyIndexer as definition } from '../indexing/dummy-indexer.ts'
import { defineIndexerType } from './indexer-type.ts'

export const dummyIndexerType = defineIndexerType(definition, 'Counts batches, ticks, cells and organisms.')
