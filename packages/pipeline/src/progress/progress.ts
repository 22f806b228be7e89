import type { DiskStatus } from '../disk/disk-status.ts'
import type { ServiceState, ServiceStatus } from '../services/service.ts'

/**
 * A pipeline at one moment, as `pipeline.progress()` gives it. Counts are those of this start, rates those of the last five
 * seconds.
 *
 * @example
 * const { tick, indexers, disk } = await pipeline.progress()
 * console.log(`tick ${tick}, ${disk.bytes} bytes on disk`)
 * for (const { name, waitingBatches } of indexers) console.log(`${name}: ${waitingBatches} batches behind`)
 */
export type PipelineProgress = {
  /** null: not known before it begins. */
  readonly runId: string | null
  /**
   * Of all services together: `ERROR` where one has failed, `STOPPED` where all have stopped, `PAUSED` where one is paused or the
   * sources wait for room on the disk, `WAITING` where one waits for something, `STARTING`, or else `RUNNING`.
   */
  readonly state: ServiceState
  /** What services wait for, each thing once. They go on by themselves. */
  readonly waitingFor: readonly string[]
  readonly services: readonly ServiceProgress[]
  /** The run's last tick; where there is no simulation, the number of ticks stored. */
  readonly tick: number
  readonly ticksPerSecond: number
  /** Organisms in the last tick of a simulation. */
  readonly alive: number
  /** In the queue before the storage. */
  readonly queuedTicks: number
  readonly queuedBytes: number
  readonly storedTicks: number
  readonly storedBatches: number
  readonly storedBytes: number
  /** Written to the storage. */
  readonly bytesPerSecond: number
  readonly indexers: readonly IndexerProgress[]
  /** By the indexer that has indexed the fewest. */
  readonly indexedTicks: number
  readonly indexedBatches: number
  readonly indexedPerSecond: number
  /** Of the indexer that is furthest behind. */
  readonly waitingBatches: number
  readonly waitingMs: number
  readonly openGaps: number
  readonly permanentGaps: number
  readonly deadLetters: number
  /** Bytes used, how fast they grow, and how long that can go on. */
  readonly disk: Omit<DiskStatus, 'parts'>
}

export type ServiceProgress = Pick<ServiceStatus, 'name' | 'state' | 'healthy' | 'waitingFor'>

export type IndexerProgress = {
  readonly name: string
  /** '' where it looks into the storage. */
  readonly group: string
  readonly ticks: number
  readonly batches: number
  readonly ticksPerSecond: number
  /** Announced, and not yet in the index. */
  readonly waitingBatches: number
  /** Age of the oldest announced batch that no consumer of the group has taken yet. */
  readonly waitingMs: number
}
