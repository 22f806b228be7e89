import type { DiskStatus } from '../disk/disk-status.ts'
import type { ServiceState, ServiceStatus } from '../services/service.ts'

/**
 * A pipeline at one moment, as `pipeline.progress()` returns it. Counts are since this start, rates over the last five
 * seconds.
 *
 * @example
 * const { tick, indexers, disk } = await pipeline.progress()
 * console.log(`tick ${tick}, ${disk.bytes} bytes on disk`)
 * for (const { name, waitingBatches } of indexers) console.log(`${name}: ${waitingBatches} batches behind`)
 */
export type PipelineProgress = {
  /** Id of the run, or null before it begins. */
  readonly runId: string | null
  /**
   * State of all services together: `ERROR` if one has failed, `STOPPED` if all have stopped, `PAUSED` if one is
   * paused or sources wait for disk space, `WAITING` if one waits for something, `STARTING`, otherwise `RUNNING`.
   */
  readonly state: ServiceState
  /** What services wait for, each thing once. They continue by themselves. */
  readonly waitingFor: readonly string[]
  /** Each service. */
  readonly services: readonly ServiceProgress[]
  /** Last tick of the run; without a simulation, the number of stored ticks. */
  readonly tick: number
  /** Ticks produced per second. */
  readonly ticksPerSecond: number
  /** Organisms in the last tick of a simulation. */
  readonly alive: number
  /** Ticks in the queue before the storage. */
  readonly queuedTicks: number
  /** Bytes in that queue. */
  readonly queuedBytes: number
  /** Ticks stored. */
  readonly storedTicks: number
  /** Batches stored. */
  readonly storedBatches: number
  /** Bytes stored. */
  readonly storedBytes: number
  /** Bytes stored per second. */
  readonly bytesPerSecond: number
  /** Each indexer. */
  readonly indexers: readonly IndexerProgress[]
  /** Ticks indexed by the slowest indexer. */
  readonly indexedTicks: number
  /** Batches indexed by the slowest indexer. */
  readonly indexedBatches: number
  /** Ticks indexed per second by the slowest indexer. */
  readonly indexedPerSecond: number
  /** Batches waiting for the indexer that is furthest behind. */
  readonly waitingBatches: number
  /** Age of the oldest batch waiting for that indexer, in milliseconds. */
  readonly waitingMs: number
  /** Indexer for which sources are slowed until it catches up, or null. */
  readonly slowedBy: string | null
  /** Gaps that may still be filled. */
  readonly openGaps: number
  /** Permanent gaps. */
  readonly permanentGaps: number
  /** Dead letters. */
  readonly deadLetters: number
  /** Disk usage, its growth, and the time left. */
  readonly disk: Omit<DiskStatus, 'parts'>
}

/** State of one service. */
export type ServiceProgress = Pick<ServiceStatus, 'name' | 'state' | 'healthy' | 'waitingFor'>

/** Progress of one indexer. */
export type IndexerProgress = {
  /** Name of the indexer. */
  readonly name: string
  /** Consumer group; '' if it reads the storage. */
  readonly group: string
  /** Ticks indexed. */
  readonly ticks: number
  /** Batches indexed. */
  readonly batches: number
  /** Ticks indexed per second. */
  readonly ticksPerSecond: number
  /** Announced batches that are not in the index yet. */
  readonly waitingBatches: number
  /** Age of the oldest announced batch that no consumer of the group has claimed, in milliseconds. */
  readonly waitingMs: number
}
