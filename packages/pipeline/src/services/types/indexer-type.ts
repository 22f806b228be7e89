import type { IndexerDefinition } from '../indexing/definition.ts'
import { defineServiceType } from '../service-type.ts'
import {
  BATCH_INDEXER_BINDINGS,
  BATCH_INDEXER_OPTIONS,
  checkBatchIndexer,
  createBatchIndexer,
} from './batch-indexer-options.ts'

/**
 * Defines a service type from an indexer definition, with the options and bindings of all indexers.
 *
 * @example
 * export default defineIndexerType({
 *   name: 'population',
 *   async prepare(run, tx) {
 *     await tx.run(run.sql('create table if not exists run.population (tick bigint primary key)'))
 *   },
 *   async flush(ticks, tx, { run }) {
 *     const upsert = run.sql('insert into run.population values (?) on conflict do nothing')
 *     for (const { tick } of ticks) await tx.run(upsert, tick)
 *   },
 * })
 */
export const defineIndexerType = (definition: IndexerDefinition, says = `The indexer '${definition.name}'.`) =>
  defineServiceType({
    says,
    options: BATCH_INDEXER_OPTIONS,
    bindings: BATCH_INDEXER_BINDINGS,
    check: checkBatchIndexer,
    create: build => createBatchIndexer(definition, build),
  })
