import { duration, whole } from '../../config/option-table.ts'
import type { EncodedTick } from '../../contracts/tick-codec.ts'
import { DeadLetterQueue } from '../../queues/dead-letter-queue.ts'
import { BATCH_TOPIC } from '../notification-topics.ts'
import { PersistenceService } from '../persistence/persistence-service.ts'
import { defineServiceType } from '../service-type.ts'
import { announcements } from './announcements.ts'
import { NOTIFICATION_OPTIONS, notifyRetryOf, RETRY_OPTIONS, retryOf } from './retry-options.ts'

export const persistence = defineServiceType({
  says:
    'Writes ticks from a queue to batch files and announces each file on the batch topic. Several instances can share a queue. ' +
    'Run a `reconciler` with it.',
  options: {
    maxBatchSize: whole({ says: 'Maximum number of ticks per batch.', min: 1, max: 1_000_000, default: 1_000 }),
    maxBatchBytes: whole({ says: 'Maximum bytes of encoded ticks per batch.', min: 1, default: 64 * 1024 ** 2 }),
    batchTimeout: duration({ says: 'Age at which an incomplete batch is written.', min: 1, default: '5s' }),
    concurrentBatches: whole({ says: 'Number of batches written at the same time.', min: 1, max: 64, default: 2 }),
    ...RETRY_OPTIONS,
    ...NOTIFICATION_OPTIONS,
  },
  bindings: {
    ticks: { kind: 'queue-in', says: 'Queue to read ticks from.' },
    storage: { kind: 'storage-write', says: 'Storage for the batches.' },
    batches: announcements(BATCH_TOPIC, 'Topic for announcements of batches.'),
    deadLetters: { kind: 'topic-write', says: "Topic for ticks that can't be stored.", semantics: 'own', unread: true },
  },
  async create({ name, options, resources, logger }) {
    const { maxBatchSize, maxBatchBytes, batchTimeout, concurrentBatches } = options
    const { tidemark: topics, settings, meter } = resources.topic('batches')
    const { tidemark, topic } = resources.topic('deadLetters')
    return new PersistenceService(
      name,
      {
        queue: resources.queue<EncodedTick>('ticks'),
        storage: resources.storage('storage'),
        topics,
        announcing: { settings, meter },
        deadLetters: await DeadLetterQueue.open(tidemark, { topic }),
        logger,
      },
      {
        maxBatchSize,
        maxBatchBytes,
        batchTimeout,
        concurrentBatches,
        retry: retryOf(options),
        notifyRetry: notifyRetryOf(options),
      },
    )
  },
})
