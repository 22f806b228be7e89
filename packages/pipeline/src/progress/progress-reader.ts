import type { GroupHealth, Tidemark } from 'tidemark'
import type { Roles } from '../config/roles.ts'
import type { DiskStatus } from '../disk/disk-status.ts'
import type { ServiceState, ServiceStatus } from '../services/service.ts'
import type { IndexerProgress, PipelineProgress, ServiceProgress } from './progress.ts'
import { Rate } from './rate.ts'
import { RunGroups, waitingIn } from './run-groups.ts'

type Observed = {
  readonly services: readonly ServiceStatus[]
  readonly disk: DiskStatus
  readonly slowedBy: string | null
}

/** Combines the figures of services, of the indexers' groups and of the disk. */
export class ProgressReader {
  readonly #status: () => Observed
  readonly #roles: Roles
  readonly #groups: RunGroups
  readonly #ticks = new Rate()
  readonly #bytes = new Rate()
  readonly #indexed = new Rate()
  readonly #ofIndexer = new Map<string, Rate>()

  constructor(status: () => Observed, topics: () => Tidemark | undefined, roles: Roles) {
    this.#status = status
    this.#roles = roles
    this.#groups = new RunGroups(topics, roles)
    for (const { name } of roles.indexers) this.#ofIndexer.set(name, new Rate())
  }

  /** Records the current counts, so that the first reader gets rates. */
  sample(): void {
    this.#count(this.#status().services)
  }

  async read(): Promise<PipelineProgress> {
    // Health first: it takes a moment, and the counts should be of the same time.
    const groups = (await this.#groups.health()) ?? this.#groups.lastKnown
    const { services, disk, slowedBy } = this.#status()
    const { parts: _, ...shownDisk } = disk
    const { runId } = this.#roles
    const counted = this.#count(services)
    const indexers = counted.indexers.map(indexer => {
      const found = groups.find(({ group }) => group === indexer.group)
      return { ...indexer, ...lagOf(found, counted.storedBatches - indexer.batches) }
    })
    return {
      runId: runId === '' ? null : runId,
      state: stateOf(services, disk.paused),
      waitingFor: [...new Set(services.map(({ waitingFor }) => waitingFor).filter(thing => thing !== null))],
      services: services.map(({ name, state, healthy, waitingFor }) => ({ name, state, healthy, waitingFor })),
      ...counted,
      indexers,
      waitingBatches: Math.max(0, ...indexers.map(({ waitingBatches }) => waitingBatches)),
      waitingMs: Math.max(0, ...indexers.map(({ waitingMs }) => waitingMs)),
      slowedBy,
      disk: shownDisk,
    }
  }

  #count(services: readonly ServiceStatus[]) {
    const { simulations, persistence } = this.#roles
    const metric = (service: string, name: string): number =>
      services.find(each => each.name === service)?.metrics[name] ?? 0
    const most = (names: readonly string[], name: string): number =>
      Math.max(0, ...names.map(service => metric(service, name)))
    const stored = (name: string): number => persistence.reduce((sum, service) => sum + metric(service, name), 0)
    const tick = simulations.length > 0 ? most(simulations, 'tick') : stored('ticksWritten')
    const storedBytes = stored('bytesWritten')
    const indexers = this.#roles.indexers.map(({ name, group }) => {
      const ticks = metric(name, 'ticksIndexed')
      const ticksPerSecond = this.#ofIndexer.get(name)?.of(ticks) ?? 0
      return { name, group, ticks, batches: metric(name, 'batchesIndexed'), ticksPerSecond }
    })
    const indexedTicks = leastOf(indexers.map(({ ticks }) => ticks))
    const names = indexers.map(({ name }) => name)
    return {
      tick,
      // Before the thread's first report it is 0, and a continued run would seem to jump.
      ticksPerSecond: tick === 0 ? 0 : this.#ticks.of(tick),
      alive: most(simulations, 'alive'),
      queuedTicks: most(persistence, 'queueItems'),
      queuedBytes: most(persistence, 'queueBytes'),
      storedTicks: stored('ticksWritten'),
      storedBatches: stored('batchesWritten'),
      storedBytes,
      bytesPerSecond: this.#bytes.of(storedBytes),
      indexers,
      indexedTicks,
      indexedBatches: leastOf(indexers.map(({ batches }) => batches)),
      indexedPerSecond: this.#indexed.of(indexedTicks),
      openGaps: most(names, 'openGaps'),
      permanentGaps: most(names, 'permanentGaps'),
      deadLetters: services.reduce(
        (sum, { metrics }) => sum + (metrics.deadLetters ?? 0) + (metrics.batchesDeadLettered ?? 0),
        0,
      ),
    }
  }
}

/**
 * An indexer that could not open its index yet has no group, and groups of a run that is unknown here are not visible.
 */
const lagOf = (
  group: GroupHealth | undefined,
  notIndexed: number,
): Pick<IndexerProgress, 'waitingBatches' | 'waitingMs'> =>
  group === undefined
    ? { waitingBatches: Math.max(0, notIndexed), waitingMs: 0 }
    : { waitingBatches: waitingIn(group), waitingMs: group.lagMs ?? 0 }

function stateOf(services: readonly ServiceProgress[], isOutOfRoom: boolean): ServiceState {
  const isAny = (wanted: ServiceState): boolean => services.some(({ state }) => state === wanted)
  if (isAny('ERROR')) return 'ERROR'
  if (services.every(({ state }) => state === 'STOPPED')) return 'STOPPED'
  if (isOutOfRoom || isAny('PAUSED')) return 'PAUSED'
  if (isAny('WAITING') || services.some(({ waitingFor }) => waitingFor !== null)) return 'WAITING'
  return isAny('STARTING') ? 'STARTING' : 'RUNNING'
}

const leastOf = (counts: readonly number[]): number => (counts.length === 0 ? 0 : Math.min(...counts))
