import type { Percentiles } from 'tidemark'
import { type Script, spawnScript } from '../../../testing/processes.ts'
import type { ConsumeReport, ConsumeWork, GroupReport } from './messages.ts'
import { Series } from './series.ts'

const NOTHING: Percentiles = { count: 0, p50: 0, p95: 0, p99: 0, max: 0 }

/** Groups in a process of their own, which can be killed. */
export class Consumers implements AsyncDisposable {
  readonly roundTrips = new Series()
  readonly rssMB = new Series()
  readonly heapMB = new Series()
  readonly handles = new Series()
  readonly errors: string[] = []
  /** When its groups had started, on the monotonic clock. */
  readonly started: Promise<number>
  readonly #latencies = new Map<string, Series>()
  readonly #delivered = new Map<string, Series>()
  readonly #script: Script
  #groups: readonly GroupReport[] = []
  #claim: Percentiles = NOTHING

  constructor(work: ConsumeWork) {
    this.#script = spawnScript(new URL('../scripts/consume.ts', import.meta.url), [JSON.stringify(work)], {
      nodeFlags: ['--expose-gc'],
    })
    const started = Promise.withResolvers<number>()
    this.started = started.promise
    this.started.catch(() => {}) // Whoever waits for it gets the error.
    this.#script.onMessage(message => {
      if ('started' in (message as object)) started.resolve((message as { started: number }).started)
      else this.#note(message as ConsumeReport)
    })
    void this.#script.exited.then(({ code, signal }) => {
      const reason = this.#script.errorLines.join('\n')
      started.reject(new Error(`A process of consumers ended with ${code ?? signal}:\n${reason}`))
    })
  }

  get pid(): number {
    return this.#script.pid
  }

  get claim(): Percentiles {
    return this.#claim
  }

  get groups(): readonly GroupReport[] {
    return this.#groups
  }

  /** Of the group with the fewest deliveries, or of one group. */
  delivered(group?: string): number {
    return leastOf(this.#of(group).map(each => each.delivered))
  }

  distinct(group?: string): number {
    return leastOf(this.#of(group).map(each => each.distinct))
  }

  latencies(group: string): Series {
    return seriesOf(this.#latencies, group)
  }

  /** The count of deliveries, report by report. */
  deliveries(group: string): Series {
    return seriesOf(this.#delivered, group)
  }

  /** Slow handlers stand still while it is closed. A stopped process could hold a lock of SQLite. */
  setOpen(isOpen: boolean): void {
    this.#script.send({ isOpen })
  }

  kill(signal: NodeJS.Signals): void {
    this.#script.kill(signal)
  }

  async ended(): Promise<void> {
    await this.#script.exited
  }

  async stop(): Promise<void> {
    this.#script.send({ stop: true })
    await this.#script.exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#script[Symbol.asyncDispose]()
  }

  #of(group: string | undefined): readonly GroupReport[] {
    return group === undefined ? this.#groups : this.#groups.filter(each => each.group === group)
  }

  #note(report: ConsumeReport): void {
    this.#groups = report.groups
    this.#claim = report.claim
    for (const { group, latencies, delivered } of report.groups) {
      this.latencies(group).add(latencies)
      this.deliveries(group).add([delivered])
    }
    this.roundTrips.add(report.roundTrips)
    this.rssMB.add([report.rssMB])
    if (report.heapMB !== null) this.heapMB.add([report.heapMB])
    this.handles.add([report.handles])
    this.errors.push(...report.errors)
  }
}

const leastOf = (counts: readonly number[]): number => (counts.length === 0 ? 0 : Math.min(...counts))

function seriesOf(map: Map<string, Series>, key: string): Series {
  const series = map.get(key) ?? new Series()
  map.set(key, series)
  return series
}
