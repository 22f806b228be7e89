import { duration, whole } from '../../config/option-table.ts'
import type { EncodedTick } from '../../contracts/tick-codec.ts'
import { DeadLetterQueue } from '../../queues/dead-letter-queue.ts'
import { BATCH_TOPIC } from '../notification-topics.ts'
import { PersistenceService } from '../persistence/persistence-service.ts'
import { defineService } from '../service-type.ts'
import { announcements } from './announcements.ts'
import { RETRY_OPTIONS, retryOf } from './retry-options.ts'

export const persistence = defineService({
  says:
    'Ticks of a queue into batch files, and word of each on the batch topic. Several can take from one queue. ' +
    'Have a `reconciler` beside it.',
  options: {
    maxBatchSize: whole({ says: 'Ticks of a batch, at most.', min: 1, max: 1_000_000, default: 1_000 }),
    maxBatchBytes: whole({ says: "Bytes of a batch's encoded ticks, at most.", min: 1, default: 64 * 1024 ** 2 }),
    batchTimeout: duration({ says: 'A batch is written when it is this old.', min: 1, default: '5s' }),
    concurrentBatches: whole({ says: 'Batches in hand at the same time.', min: 1, max: 64, default: 2 }),
    ...RETRY_OPTIONS,
  },
  bindings: {
    ticks: { kind: 'queue-in', says: 'Where the ticks come from.' },
    storage: { kind: 'storage-write', says: 'Gets the batches.' },
    batches: announcements(BATCH_TOPIC, 'Gets word of each batch.'),
    deadLetters: { kind: 'topic-write', says: 'Gets ticks that can not be stored.', semantics: 'own', unread: true },
  },
  async create({ name, options, resources, logger }) {
    const { maxBatchSize, maxBatchBytes, batchTimeout, concurrentBatches } = options
    const { tidemark: topics, settings } = resources.topic('batches')
    const { tidemark, topic } = resources.topic('deadLetters')
    return new PersistenceService(
      name,
      {
        queue: resources.queue<EncodedTick>('ticks'),
        storage: resources.storage('storage'),
        topics,
        topicSettings: settings,
        deadLetters: await DeadLetterQueue.open(tidemark, { topic }),
        logger,
      },
      { maxBatchSize, maxBatchBytes, batchTimeout, concurrentBatches, retry: retryOf(options) },
    )
  },
})
