import { duration } from '../../config/option-table.ts'
import { MetadataIndexer } from '../indexing/metadata-indexer.ts'
import { defineServiceType } from '../service-type.ts'
import { indexerOptions, RUN_OPTIONS } from './indexer-options.ts'

export const metadataIndexer = defineServiceType({
  says: "Copies a run's metadata from the storage into its index. The other indexers wait for it.",
  options: {
    ...RUN_OPTIONS,
    lease: duration({
      says: 'Lease of the announcement. After a crash it is redelivered when it expires.',
      min: 1,
      default: '30s',
    }),
  },
  bindings: {
    metadata: { kind: 'topic-read', says: 'Announcements of stored metadata.', semantics: 'own', perRun: true },
    storage: { kind: 'storage-read', says: 'Storage to read from.' },
    index: { kind: 'index', says: 'Index to write to.' },
  },
  create({ name, options, resources, logger }) {
    const { tidemark, topic, consumerGroup: group, settings, meter } = resources.topic('metadata')
    const common = indexerOptions(options, resources, logger)
    return new MetadataIndexer({ ...common, tidemark, topic, name, group, lease: options.lease, settings, meter })
  },
})
