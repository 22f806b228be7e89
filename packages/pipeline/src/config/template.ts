/**
 * Configuration that `tidemark config init` writes: the pipeline of `npm start`, with the settings that are changed
 * most often.
 */
export const CONFIG_TEMPLATE = `/**
 * A pipeline for Tidemark. In this folder:
 *
 *     tidemark config check        check it
 *     tidemark start               run it, with an HTTP server
 *
 * Every option of every service: docs/reference/configuration.md. Paths are relative to this file.
 */
import { defineConfig, index, queue, storageRead, storageWrite, topicRead, topicWrite } from '@tidemark/pipeline'

// One machine: SQLite and files, with nothing to install. Several machines: a PostgreSQL that all of them reach, such as
// process.env.DATABASE_URL ('postgres://user:password@host/database') for both, and a storage folder that all of them see,
// or a bucket: s3({ bucket, endpoint }) in place of { root: storage }.
const topics = 'sqlite:./data/topics.db'
const indexes = 'sqlite:./data/index'
const storage = './data/storage'

const MiB = 1024 ** 2

/** Indexers of one consumer group share the batches; every group receives all batches. */
const indexer = (consumerGroup: string) => ({
  bindings: {
    batches: topicRead('batch-topic', { consumerGroup }),
    storage: storageRead('ticks'),
    index: index('runs'),
    deadLetters: topicWrite('indexer-dead-letters'),
  },
  options: {
    lease: '5s', // after a crash, batches are redelivered when it expires
    flushTimeout: '1s', // maximum time that a tick is buffered
    maxBufferBytes: 2 * MiB,
    firstTick: 0, // first tick of the run; missing ticks from there on are a gap. Omit it if runs start elsewhere
  } as const,
})

export default defineConfig({
  maxDisk: '2GB', // disk budget, or 'none'
  keep: 'fits', // when the budget is nearly used up, the oldest ticks make room; 'forever' pauses the simulation instead
  resources: {
    topics: { url: topics /* , settings: { 'batch-topic': { maxAttempts: 20 } } */ },
    storages: { ticks: { root: storage, sharedReadBytes: 4 * MiB } },
    indexes: { runs: { address: indexes } },
    queues: { ticks: { maxBytes: 4 * MiB }, metadata: { maxItems: 10 } },
  },
  // Started in this order, stopped in reverse. \`enabled: false\` leaves one out; \`tidemark start --only <service>\` runs one alone.
  services: {
    'metadata-indexer': {
      type: 'metadata-indexer',
      bindings: {
        metadata: topicRead('metadata-topic', { consumerGroup: 'metadata' }),
        storage: storageRead('ticks'),
        index: index('runs'),
      },
      options: { lease: '5s' },
    },
    'dummy-indexer': { type: 'dummy-indexer', ...indexer('dummy') },
    'environment-indexer': { type: 'environment-indexer', ...indexer('environment') },
    'organism-indexer': { type: 'organism-indexer', ...indexer('organism') },
    'series-indexer': { type: 'series-indexer', ...indexer('series') },
    // One of your own is a module beside this file (docs/internals/writing-an-indexer.md):
    // population: { type: './population.ts', ...indexer('population') },
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
      options: { batchTimeout: '1s', maxBatchBytes: 4 * MiB, concurrentBatches: 1 },
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
        shape: [240, 150],
        organisms: 24, // founders, each with its own lineage
        energyPerCell: 24,
        growth: 1,
        mutationRate: 0.015,
        ticksPerSecond: 25,
        stateFolder: './data/simulation',
      },
    },
  },
})
`
