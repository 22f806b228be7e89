import { type GroupHealth, type Tidemark, TopicNotFoundError } from 'tidemark'
import type { DiskStatus } from '../disk/disk-status.ts'
import { isEnvironmentFault } from '../faults.ts'
import type { Pipeline } from '../run-pipeline.ts'
import { BATCH_TOPIC, topicOfRun } from '../services/notification-topics.ts'
import type { ServiceStatus } from '../services/service.ts'
import { Rate } from './rate.ts'
import type { Roles } from './roles.ts'

/** The pipeline at one moment. Counts are those of this start; `tick` is the run's, or how many were stored where there is no simulation. */
export type Progress = {
  readonly services: readonly Pick<ServiceStatus, 'name' | 'state' | 'healthy' | 'waitingFor'>[]
  readonly tick: number
  readonly ticksPerSecond: number
  readonly alive: number
  readonly queuedTicks: number
  readonly queuedBytes: number
  readonly storedTicks: number
  readonly storedBatches: number
  readonly storedBytes: number
  readonly bytesPerSecond: number
  /** By the indexer that has indexed the fewest. */
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
  readonly disk: Omit<DiskStatus, 'parts'>
}

export class ProgressReader {
  readonly #pipeline: Pipeline
  readonly #topics: Tidemark | undefined
  readonly #roles: Roles
  /** '' where the run is not known yet. */
  readonly #topic: string
  #lastHealth: readonly GroupHealth[] = []
  readonly #ticks = new Rate()
  readonly #bytes = new Rate()
  readonly #indexed = new Rate()

  constructor(pipeline: Pipeline, topics: Tidemark | undefined, roles: Roles) {
    const { runId } = roles
    this.#pipeline = pipeline
    this.#topics = topics
    this.#roles = roles
    this.#topic = runId === '' ? '' : topicOfRun(BATCH_TOPIC, runId)
  }

  async read(): Promise<Progress> {
    const { services, disk } = this.#pipeline.status()
    const { parts: _, ...shownDisk } = disk
    const groups = (await this.#health()) ?? this.#lastHealth
    const { indexers, simulations, persistence } = this.#roles
    const metric = (service: string, name: string): number =>
      services.find(each => each.name === service)?.metrics[name] ?? 0
    const made = (name: string): number => Math.max(0, ...simulations.map(simulation => metric(simulation, name)))
    const stored = (name: string): number => persistence.reduce((sum, service) => sum + metric(service, name), 0)
    const tick = simulations.length > 0 ? made('tick') : stored('ticksWritten')
    const storedBytes = stored('bytesWritten')
    const ofIndexers = (name: string): number[] => indexers.map(indexer => metric(indexer, name))
    const indexedTicks = leastOf(ofIndexers('ticksIndexed'))
    const indexedBatches = leastOf(ofIndexers('batchesIndexed'))
    return {
      services: services.map(({ name, state, healthy, waitingFor }) => ({ name, state, healthy, waitingFor })),
      tick,
      // Before the thread's first word it is 0, and a run that goes on would seem to leap.
      ticksPerSecond: tick === 0 ? 0 : this.#ticks.of(tick),
      alive: made('alive'),
      queuedTicks: Math.max(0, ...persistence.map(service => metric(service, 'queueItems'))),
      queuedBytes: Math.max(0, ...persistence.map(service => metric(service, 'queueBytes'))),
      storedTicks: stored('ticksWritten'),
      storedBatches: stored('batchesWritten'),
      storedBytes,
      bytesPerSecond: this.#bytes.of(storedBytes),
      indexedTicks,
      indexedBatches,
      indexedPerSecond: this.#indexed.of(indexedTicks),
      waitingBatches: Math.max(0, ...this.#waiting(groups, stored('batchesWritten') - indexedBatches)),
      waitingMs: Math.max(0, ...groups.map(({ lagMs }) => lagMs ?? 0)),
      openGaps: Math.max(0, ...ofIndexers('openGaps')),
      permanentGaps: Math.max(0, ...ofIndexers('permanentGaps')),
      deadLetters: services.reduce(
        (sum, { metrics }) => sum + (metrics.deadLetters ?? 0) + (metrics.batchesDeadLettered ?? 0),
        0,
      ),
      disk: shownDisk,
    }
  }

  /** All that is stored is announced, and all that is announced is indexed. Of a batch that failed, the dead letters tell. */
  async isDone(): Promise<boolean> {
    // What was stored before a kill and not announced, only the first look finds.
    for (const name of this.#roles.reconcilers) {
      const { state, metrics } = this.#pipeline.services.statusOf(name)
      if (state !== 'STOPPED' && state !== 'ERROR' && !metrics.looks) return false
    }
    const { groups: expected } = this.#roles
    if (expected.length === 0) return true
    // Until an indexer has the run's metadata there is no group, and nothing that could wait in it.
    const groups = await this.#health()
    if (groups === undefined) return false
    return groups.length === expected.length && groups.every(group => waitingIn(group) === 0)
  }

  /** An indexer that could not open its index yet has no group, and the groups of a run that is not known here aren't seen. */
  #waiting(groups: readonly GroupHealth[], notIndexed: number): number[] {
    return this.#roles.groups.map(name => {
      const found = groups.find(({ group }) => group === name)
      return found === undefined ? notIndexed : waitingIn(found)
    })
  }

  /** undefined: the topics don't answer. That they don't, the pipeline's status says. */
  async #health(): Promise<readonly GroupHealth[] | undefined> {
    try {
      if (this.#topic === '' || this.#topics === undefined) return []
      const groups = await this.#topics.admin.groups(this.#topic)
      this.#lastHealth = groups.filter(({ group }) => this.#roles.groups.includes(group))
      return this.#lastHealth
    } catch (error) {
      if (isEnvironmentFault(error) || error instanceof TopicNotFoundError) return undefined
      throw error
    }
  }
}

const leastOf = (counts: readonly number[]): number => (counts.length === 0 ? 0 : Math.min(...counts))

/** Also from before this start. */
const waitingIn = ({ lagMessages, inFlight, retries }: GroupHealth): number => lagMessages + inFlight + retries
