/**
 * A pipeline on several machines: topics and indexes on PostgreSQL, batches in object storage or in a folder that every
 * machine sees. Each machine runs a part of it (docs/guides/deploying.md):
 *
 *     tidemark start --config cluster.config.ts --only simulation,metadata-persistence,persistence,reconciler
 *     tidemark start --config cluster.config.ts --only metadata-indexer,environment-indexer,organism-indexer,series-indexer
 *
 *     DATABASE_URL            postgres://user:password@host/database
 *     S3_BUCKET               bucket of the batches; its server and keys are AWS_ENDPOINT_URL_S3, AWS_REGION and the like
 *     TICKS_FOLDER            folder of the batches, where there is no S3_BUCKET
 *     STATE_FOLDER            folder of the simulation's saved states (default /data/simulation)
 *
 * Every other option can be set from the environment too (docs/reference/configuration.md#the-environment).
 */
import { defineConfig, index, queue, s3, storageRead, storageWrite, topicRead, topicWrite } from '@tidemark/pipeline'

const { DATABASE_URL: database = '', S3_BUCKET: bucket, TICKS_FOLDER: folder, STATE_FOLDER: states } = process.env
if (database === '') throw new Error('DATABASE_URL is not set: postgres://user:password@host/database')
if (!bucket && !folder) throw new Error('Neither S3_BUCKET nor TICKS_FOLDER is set: where are the batches?')

const MiB = 1024 ** 2

/** Indexers of one consumer group share the batches; every group receives all batches. */
const indexer = (consumerGroup: string) => ({
  bindings: {
    batches: topicRead('batch-topic', { consumerGroup }),
    storage: storageRead('ticks'),
    index: index('runs'),
    deadLetters: topicWrite('indexer-dead-letters'),
  },
  // A killed indexer's batches are redelivered when their lease expires.
  options: { lease: '30s', flushTimeout: '1s', maxBufferBytes: 8 * MiB, firstTick: 0 } as const,
})

export default defineConfig({
  maxDisk: 'none',
  resources: {
    topics: { url: database },
    storages: {
      ticks: bucket ? s3({ bucket, sharedReadBytes: 16 * MiB }) : { root: folder ?? '', sharedReadBytes: 16 * MiB },
    },
    indexes: { runs: { address: database } },
    queues: { ticks: { maxBytes: 16 * MiB }, metadata: { maxItems: 10 } },
  },
  services: {
    'metadata-indexer': {
      type: 'metadata-indexer',
      bindings: {
        metadata: topicRead('metadata-topic', { consumerGroup: 'metadata' }),
        storage: storageRead('ticks'),
        index: index('runs'),
      },
      options: { lease: '30s' },
    },
    'environment-indexer': { type: 'environment-indexer', ...indexer('environment') },
    'organism-indexer': { type: 'organism-indexer', ...indexer('organism') },
    'series-indexer': { type: 'series-indexer', ...indexer('series') },
    'metadata-persistence': {
      type: 'metadata-persistence',
      bindings: {
        metadata: queue('metadata'),
        storage: storageWrite('ticks'),
        announcements: topicWrite('metadata-topic'),
        deadLetters: topicWrite('dead-letters'),
      },
    },
    persistence: {
      type: 'persistence',
      bindings: {
        ticks: queue('ticks'),
        storage: storageWrite('ticks'),
        batches: topicWrite('batch-topic'),
        deadLetters: topicWrite('dead-letters'),
      },
      options: { batchTimeout: '1s', maxBatchBytes: 16 * MiB },
    },
    reconciler: {
      type: 'reconciler',
      bindings: {
        storage: storageWrite('ticks'),
        batches: topicWrite('batch-topic'),
        metadata: topicWrite('metadata-topic'),
      },
    },
    simulation: {
      type: 'simulation',
      thread: true,
      bindings: { ticks: queue('ticks'), metadata: queue('metadata'), storage: storageRead('ticks') },
      options: {
        seed: 'reef',
        shape: [480, 300],
        organisms: 96,
        energyPerCell: 24,
        growth: 1,
        mutationRate: 0.015,
        ticksPerSecond: 25,
        stateFolder: states || '/data/simulation',
      },
    },
  },
})
