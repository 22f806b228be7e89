import type { PoolUse } from '../stores/store.ts'
import { Histogram, type Percentiles } from './histogram.ts'
import { Meter } from './meter.ts'

/** What is counted, for the whole, for each topic and for each group. */
export const COUNTED = [
  'published',
  'duplicates',
  'received',
  'acked',
  'nacked',
  'retried',
  'released',
  'deadLettered',
  'staleRejected',
  'takenOver',
  'filtered',
  'claims',
  'claimConflicts',
  'errors',
  'heartbeats',
  'heartbeatFailures',
  'deadGroups',
  'resurrected',
  'lost',
  'cleaned',
  'jobsRun',
  'jobsFailed',
] as const

export type Counted = (typeof COUNTED)[number]
export type Counts = { readonly [name in Counted]: number }

export type ScopeMetrics = {
  readonly totals: Counts
  /** Per second over the last minute. */
  readonly rates: Counts
}

export type Metrics = ScopeMetrics & {
  /** Milliseconds. */
  readonly latency: {
    readonly publish: Percentiles
    readonly claim: Percentiles
    readonly settle: Percentiles
    readonly heartbeat: Percentiles
  }
  readonly claimConflictRatio: number
  readonly pool: PoolUse
  readonly topics: {
    readonly [topic: string]: ScopeMetrics & { readonly groups: { readonly [group: string]: ScopeMetrics } }
  }
}

class Scope {
  readonly #meters = Object.fromEntries(COUNTED.map(name => [name, new Meter()])) as { [name in Counted]: Meter }
  readonly children = new Map<string, Scope>()

  add(name: Counted, count: number): void {
    this.#meters[name].add(count)
  }

  child(name: string): Scope {
    let scope = this.children.get(name)
    if (scope === undefined) {
      scope = new Scope()
      this.children.set(name, scope)
    }
    return scope
  }

  snapshot(): ScopeMetrics {
    return { totals: this.#collect(meter => meter.total), rates: this.#collect(meter => meter.rate()) }
  }

  #collect(read: (meter: Meter) => number): Counts {
    return Object.fromEntries(COUNTED.map(name => [name, read(this.#meters[name])])) as Counts
  }
}

/** Totals, rates and latencies, kept in this process; recording is O(1). */
export class MetricsRegistry {
  readonly publish = new Histogram()
  readonly claim = new Histogram()
  readonly settle = new Histogram()
  readonly heartbeat = new Histogram()
  readonly #all = new Scope()

  add(name: Counted, count: number, topic?: string, group?: string): void {
    if (count === 0) return
    this.#all.add(name, count)
    if (topic === undefined) return
    const scope = this.#all.child(topic)
    scope.add(name, count)
    if (group !== undefined) scope.child(group).add(name, count)
  }

  snapshot(pool: PoolUse): Metrics {
    const all = this.#all.snapshot()
    return {
      ...all,
      latency: {
        publish: this.publish.snapshot(),
        claim: this.claim.snapshot(),
        settle: this.settle.snapshot(),
        heartbeat: this.heartbeat.snapshot(),
      },
      claimConflictRatio: all.totals.claims === 0 ? 0 : all.totals.claimConflicts / all.totals.claims,
      pool,
      topics: mapScopes(this.#all, topic => ({
        ...topic.snapshot(),
        groups: mapScopes(topic, group => group.snapshot()),
      })),
    }
  }
}

const mapScopes = <T>(scope: Scope, read: (child: Scope) => T): { [name: string]: T } =>
  Object.fromEntries([...scope.children].map(([name, child]) => [name, read(child)]))
