import { DeadLetterQueue } from '../../queues/dead-letter-queue.ts'
import { METADATA_TOPIC } from '../notification-topics.ts'
import { type MetadataItem, MetadataPersistenceService } from '../persistence/metadata-persistence-service.ts'
import { defineService } from '../service-type.ts'
import { announcements } from './announcements.ts'
import { RETRY_OPTIONS, retryOf } from './retry-options.ts'

export const metadataPersistence = defineService({
  says: "A run's metadata into its file, and word of it on the metadata topic.",
  options: RETRY_OPTIONS,
  bindings: {
    metadata: { kind: 'queue-in', says: 'Where the metadata come from.' },
    storage: { kind: 'storage-write', says: 'Gets them.' },
    announcements: announcements(METADATA_TOPIC, 'Gets word of them.'),
    deadLetters: { kind: 'topic-write', says: 'Gets metadata that can not be stored.', semantics: 'own', unread: true },
  },
  async create({ name, options, resources, logger }) {
    const { tidemark: topics, settings } = resources.topic('announcements')
    const { tidemark, topic } = resources.topic('deadLetters')
    return new MetadataPersistenceService(
      name,
      {
        queue: resources.queue<MetadataItem>('metadata'),
        storage: resources.storage('storage'),
        topics,
        topicSettings: settings,
        deadLetters: await DeadLetterQueue.open(tidemark, { topic }),
        logger,
      },
      { retry: retryOf(options) },
    )
  },
})
