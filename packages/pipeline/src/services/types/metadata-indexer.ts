import { duration } from '../../config/option-table.ts'
import { MetadataIndexer } from '../indexing/metadata-indexer.ts'
import { defineService } from '../service-type.ts'
import { indexerOptions, RUN_OPTIONS } from './indexer-options.ts'

export const metadataIndexer = defineService({
  says: "Brings a run's metadata from the storage into its index, which is what the other indexers wait for.",
  options: {
    ...RUN_OPTIONS,
    lease: duration({
      says: 'How long metadata in hand are nobody else’s: after a kill they wait for so long.',
      min: 1,
      default: '30s',
    }),
  },
  bindings: {
    metadata: { kind: 'topic-read', says: 'Tells which metadata are stored.', semantics: 'own', perRun: true },
    storage: { kind: 'storage-read', says: 'Has them.' },
    index: { kind: 'index', says: 'Gets them.' },
  },
  create({ name, options, resources, logger }) {
    const { tidemark, topic, consumerGroup, settings } = resources.topic('metadata')
    const common = indexerOptions(options, resources, logger)
    return new MetadataIndexer({
      ...common,
      tidemark,
      topic,
      name,
      group: consumerGroup,
      lease: options.lease,
      settings,
    })
  },
})
