import type { GroupHealth, Tidemark } from 'tidemark'
import type { Pipeline } from '../run-pipeline.ts'
import { BATCH_TOPIC } from '../services/notification-topics.ts'
import type { ServiceState } from '../services/service.ts'
import { Rate } from './rate.ts'

/** The pipeline at one moment. Counts are those of this start; `tick` is the run's, or how many were stored where there is no simulation. */
export type Progress = {
  readonly services: readonly { readonly name: string; readonly state: ServiceState; readonly healthy: boolean }[]
  readonly tick: number
  readonly ticksPerSecond: number
  readonly alive: number
  readonly queuedTicks: number
  readonly queuedBytes: number
  readonly storedTicks: number
  readonly storedBatches: number
  readonly storedBytes: number
  readonly bytesPerSecond: number
  readonly indexedTicks: number
  readonly indexedBatches: number
  readonly indexedPerSecond: number
  /** Announced, and not yet in the index: of the indexer that is furthest behind. */
  readonly waitingBatches: number
  /** The age of the oldest of those nobody has taken yet. */
  readonly waitingMs: number
  readonly openGaps: number
  readonly permanentGaps: number
  readonly deadLetters: number
}

export class ProgressReader {
  readonly #pipeline: Pipeline
  readonly #topics: Tidemark
  readonly #groups: readonly string[]
  readonly #ticks = new Rate()
  readonly #bytes = new Rate()
  readonly #indexed = new Rate()

  /** `groups`: of the indexers. */
  constructor(pipeline: Pipeline, topics: Tidemark, groups: readonly string[]) {
    this.#pipeline = pipeline
    this.#topics = topics
    this.#groups = groups
  }

  async read(): Promise<Progress> {
    const { services } = this.#pipeline.status()
    const groups = await this.#health()
    const metric = (service: string, name: string): number =>
      services.find(each => each.name === service)?.metrics[name] ?? 0
    const isSimulated = services.some(({ name }) => name === 'simulation')
    const tick = isSimulated ? metric('simulation', 'tick') : metric('persistence', 'ticksWritten')
    const storedBytes = metric('persistence', 'bytesWritten')
    const indexedTicks = metric('dummy-indexer', 'ticksIndexed')
    return {
      services: services.map(({ name, state, healthy }) => ({ name, state, healthy })),
      tick,
      // Before the thread's first word it is 0, and a run that goes on would seem to leap.
      ticksPerSecond: tick === 0 ? 0 : this.#ticks.of(tick),
      alive: metric('simulation', 'alive'),
      queuedTicks: metric('persistence', 'queueItems'),
      queuedBytes: metric('persistence', 'queueBytes'),
      storedTicks: metric('persistence', 'ticksWritten'),
      storedBatches: metric('persistence', 'batchesWritten'),
      storedBytes,
      bytesPerSecond: this.#bytes.of(storedBytes),
      indexedTicks,
      indexedBatches: metric('dummy-indexer', 'batchesIndexed'),
      indexedPerSecond: this.#indexed.of(indexedTicks),
      waitingBatches: Math.max(0, ...groups.map(waitingIn)),
      waitingMs: Math.max(0, ...groups.map(({ lagMs }) => lagMs ?? 0)),
      openGaps: metric('dummy-indexer', 'openGaps'),
      permanentGaps: metric('dummy-indexer', 'permanentGaps'),
      deadLetters: services.reduce(
        (sum, { metrics }) => sum + (metrics.deadLetters ?? 0) + (metrics.batchesDeadLettered ?? 0),
        0,
      ),
    }
  }

  /** All that is stored is announced, and all that is announced is indexed. Of a batch that failed, the dead letters tell. */
  async isDone(): Promise<boolean> {
    // What was stored before a kill and not announced, only the first look finds.
    const { state, metrics } = this.#pipeline.services.statusOf('reconciler')
    if (state === 'RUNNING' && !metrics.looks) return false
    // Until an indexer has the run's metadata there is no group, and nothing that could wait in it.
    const groups = await this.#health()
    return groups.length === this.#groups.length && groups.every(group => waitingIn(group) === 0)
  }

  async #health(): Promise<GroupHealth[]> {
    const groups = await this.#topics.admin.groups(BATCH_TOPIC)
    return groups.filter(({ group }) => this.#groups.includes(group))
  }
}

/** Also from before this start. */
const waitingIn = ({ lagMessages, inFlight, retries }: GroupHealth): number => lagMessages + inFlight + retries
