import { join } from 'node:path'
import type { Bytes } from '../disk/bytes.ts'
import { BATCH_TOPIC, METADATA_TOPIC } from '../services/notification-topics.ts'
import type { Keep } from '../services/retention/keep.ts'
import { index, queue, storageRead, storageWrite, topicRead, topicWrite } from './bindings.ts'
import type { PipelineConfig, ServiceConfig } from './config.ts'

/** Options of the default pipeline. */
export type DefaultConfigOptions = {
  /** Folder of topics, storage, index and saved states (default './data'). */
  readonly dataFolder?: string
  /** Whether a new run begins instead of continuing the newest (default false). */
  readonly newRun?: boolean
  /** Tick after which the run ends (default: it runs until it is stopped). */
  readonly lastTick?: number
  /** Run whose ticks come from outside instead of the simulation. */
  readonly ingestedRun?: string
  /** Disk budget, or 'none' (default '2GB'; at the default pace a night would take 50 GB). */
  readonly maxDisk?: Bytes
  /**
   * How much of the run is kept (default 'fits': the oldest ticks make room in the budget. Ticks from outside: 'forever',
   * and the source pauses instead).
   */
  readonly keep?: Keep
}

const MiB = 1024 ** 2
/**
 * Counts alone don't bound memory: a thousand ticks of the default world are 100 MB. This is the limit of the queue, of
 * each batch being written and of what the indexers share of the batches they read, so that the whole process stays
 * below 300 MB. A second at the default rate is 2.5 MB.
 */
const BYTES_AT_ONCE = 4 * MiB
/** There are four indexers. With 4 MiB for each of them the process took 30 MB more at full speed. */
const BYTES_OF_A_BUFFER = 2 * MiB
/** A rate at which the eye can follow an organism: one cell per tick. Less than 1 MB of batch files per second. */
const TICKS_PER_SECOND = 25
/**
 * The world that a visitor sees first, chosen by pictures after 3, 10, 30 and 120 seconds: colonies bloom, meet and
 * hold borders. Few founders and few mutations keep lineages large enough to see.
 */
const WORLD = {
  seed: 'reef',
  shape: [240, 150],
  organisms: 24,
  energyPerCell: 24,
  growth: 1,
  mutationRate: 0.015,
} as const
/** After a kill, claimed batches are redelivered after this time. */
const LEASE = '5s'

/**
 * Configuration of the whole pipeline on one machine: topics and index on SQLite, batches in files.
 *
 * @example
 * const config = defaultConfig({ dataFolder: './data', maxDisk: '10GB' })
 */
export function defaultConfig(options: DefaultConfigOptions = {}): PipelineConfig {
  const { dataFolder = './data', newRun = false, lastTick, ingestedRun, maxDisk = '2GB' } = options
  const { keep = ingestedRun === undefined ? 'fits' : 'forever' } = options
  const ofRun = { ...(ingestedRun !== undefined && { runId: ingestedRun }) }
  const indexer = (consumerGroup: string) => ({
    bindings: {
      batches: topicRead(BATCH_TOPIC, { consumerGroup }),
      storage: storageRead('ticks'),
      index: index('runs'),
      deadLetters: topicWrite('indexer-dead-letters'),
    },
    options: {
      lease: LEASE,
      flushTimeout: '1s',
      maxBufferBytes: BYTES_OF_A_BUFFER,
      // The simulation begins at tick 0. A run from elsewhere may begin at any tick and time.
      ...(ingestedRun === undefined ? { firstTick: 0 } : { metadataTimeout: 0 }),
      ...ofRun,
    } as const,
  })
  return {
    maxDisk,
    keep,
    resources: {
      topics: { url: `sqlite:${join(dataFolder, 'topics.db')}` },
      storages: { ticks: { root: join(dataFolder, 'storage'), sharedReadBytes: BYTES_AT_ONCE } },
      indexes: { runs: { address: `sqlite:${join(dataFolder, 'index')}` } },
      queues: { ticks: { maxBytes: BYTES_AT_ONCE }, metadata: { maxItems: 10 } },
    },
    // Stopped in reverse: the simulation first, then the services that store its last ticks, the indexers last.
    services: {
      'metadata-indexer': {
        type: 'metadata-indexer',
        bindings: {
          metadata: topicRead(METADATA_TOPIC, { consumerGroup: 'metadata' }),
          storage: storageRead('ticks'),
          index: index('runs'),
        },
        options: { lease: LEASE, ...ofRun },
      },
      'dummy-indexer': { type: 'dummy-indexer', ...indexer('dummy') },
      'environment-indexer': { type: 'environment-indexer', ...indexer('environment') },
      'organism-indexer': { type: 'organism-indexer', ...indexer('organism') },
      'series-indexer': { type: 'series-indexer', ...indexer('series') },
      ...persistenceServices(),
      ...(ingestedRun === undefined && { simulation: simulationOf(dataFolder, newRun, lastTick) }),
    },
  }
}

/** Services that store ticks and metadata, and announce them. */
function persistenceServices() {
  const deadLetters = topicWrite('dead-letters')
  return {
    'metadata-persistence': {
      type: 'metadata-persistence',
      bindings: {
        metadata: queue('metadata'),
        storage: storageWrite('ticks'),
        announcements: topicWrite(METADATA_TOPIC),
        deadLetters,
      },
    },
    persistence: {
      type: 'persistence',
      bindings: {
        ticks: queue('ticks'),
        storage: storageWrite('ticks'),
        batches: topicWrite(BATCH_TOPIC),
        deadLetters,
      },
      // One at a time: a second batch would take 10 MB, and the simulation would be no faster.
      options: { batchTimeout: '1s', maxBatchBytes: BYTES_AT_ONCE, concurrentBatches: 1 },
    },
    reconciler: {
      type: 'reconciler',
      bindings: {
        storage: storageWrite('ticks'),
        batches: topicWrite(BATCH_TOPIC),
        metadata: topicWrite(METADATA_TOPIC),
      },
    },
  } as const
}

function simulationOf(dataFolder: string, newRun: boolean, lastTick: number | undefined): ServiceConfig {
  return {
    type: 'simulation',
    thread: true,
    bindings: { ticks: queue('ticks'), metadata: queue('metadata'), storage: storageRead('ticks') },
    options: {
      ...WORLD,
      ticksPerSecond: TICKS_PER_SECOND,
      stateFolder: join(dataFolder, 'simulation'),
      resume: newRun ? false : 'newest',
      ...(lastTick !== undefined && { maxTicks: lastTick }),
    },
  }
}
