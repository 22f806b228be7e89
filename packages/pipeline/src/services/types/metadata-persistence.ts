import { DeadLetterQueue } from '../../queues/dead-letter-queue.ts'
import { METADATA_TOPIC } from '../notification-topics.ts'
import { type MetadataItem, MetadataPersistenceService } from '../persistence/metadata-persistence-service.ts'
import { defineServiceType } from '../service-type.ts'
import { announcements } from './announcements.ts'
import { NOTIFICATION_OPTIONS, notifyRetryOf, RETRY_OPTIONS, retryOf } from './retry-options.ts'

export const metadataPersistence = defineServiceType({
  says: "Stores a run's metadata and announces it on the metadata topic.",
  options: { ...RETRY_OPTIONS, ...NOTIFICATION_OPTIONS },
  bindings: {
    metadata: { kind: 'queue-in', says: 'Queue to read metadata from.' },
    storage: { kind: 'storage-write', says: 'Storage to write to.' },
    announcements: announcements(METADATA_TOPIC, 'Topic for the announcement.'),
    deadLetters: {
      kind: 'topic-write',
      says: "Topic for metadata that can't be stored.",
      semantics: 'own',
      unread: true,
    },
  },
  async create({ name, options, resources, logger }) {
    const { tidemark: topics, settings, meter } = resources.topic('announcements')
    const { tidemark, topic } = resources.topic('deadLetters')
    return new MetadataPersistenceService(
      name,
      {
        queue: resources.queue<MetadataItem>('metadata'),
        storage: resources.storage('storage'),
        topics,
        announcing: { settings, meter },
        deadLetters: await DeadLetterQueue.open(tidemark, { topic }),
        logger,
      },
      { retry: retryOf(options), notifyRetry: notifyRetryOf(options) },
    )
  },
})
