import { dummyIndexer as definition } from '../indexing/dummy-indexer.ts'
import { defineIndexerType } from './indexer-type.ts'

export const dummyIndexer = defineIndexerType(definition, 'Counts batches, ticks, cells and organisms.')
