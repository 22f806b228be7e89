import type { GroupVitals } from '../../consume/vitals.ts'
import type { PoolUse } from '../../stores/inspection.ts'
import type { FailureCounts, Outage } from '../outages.ts'
import type { ConsumerMeter } from './consumer-meter.ts'
import { Histogram, type Percentiles } from './histogram.ts'
import { presentSecond } from './meter.ts'
import {
  type Counted,
  type GroupMetrics,
  type GroupScope,
  mapValues,
  Scope,
  type ScopeMetrics,
  TopicScope,
} from './scope.ts'

/** Metrics of this process, from `tm.metrics()`. */
export type Metrics = ScopeMetrics & {
  /** Milliseconds. */
  readonly latency: {
    readonly publish: Percentiles
    readonly claim: Percentiles
    readonly settle: Percentiles
    readonly heartbeat: Percentiles
  }
  /** Share of claims that had to wait for another, 0 to 1. */
  readonly claimConflictRatio: number
  /** Failed database calls by operation. Failures to connect count as both. */
  readonly failures: FailureCounts
  /** Operations that fail now. */
  readonly outages: readonly Outage[]
  /** Groups of this process whose claims fail. */
  readonly failing: readonly GroupVitals[]
  /** PostgreSQL only: use of the connection pool. */
  readonly pool: PoolUse
  /** Figures by topic. */
  readonly topics: {
    readonly [topic: string]: ScopeMetrics & { readonly groups: { readonly [group: string]: GroupMetrics } }
  }
}

/** Without the parts that come from elsewhere. */
export type RecordedMetrics = Omit<Metrics, 'failures' | 'outages' | 'failing'>

/**
 * How long events of a removed topic or group are ignored, while its consumers notice, so that they don't recreate it.
 */
const GONE_MS = 60_000
/** Events that prove that it exists. */
const REVIVING: ReadonlySet<Counted> = new Set(['published', 'received'])

/** Totals, rates and latencies, kept in this process; recording is O(1). */
export class MetricsRegistry {
  readonly publish = new Histogram()
  readonly claim = new Histogram()
  readonly settle = new Histogram()
  readonly heartbeat = new Histogram()
  readonly #all = new Scope()
  readonly #topics = new Map<string, TopicScope>()
  /** Recently removed topics, and groups as topic/group, and until when that is remembered. */
  readonly #gone = new Map<string, number>()

  add(name: Counted, count: number, topic?: string, group?: string): void {
    if (count === 0) return
    const second = presentSecond()
    this.#all.add(name, count, second)
    if (topic === undefined || (this.#gone.size > 0 && this.#isGone(name, topic, group))) return
    const scope = this.#topic(topic)
    scope.add(name, count, second)
    if (group !== undefined) scope.group(group).add(name, count, second)
  }

  /** A consumer of the group starts; `forgetConsumer` ends it. */
  consumer(topic: string, group: string, id: string): ConsumerMeter {
    this.#gone.delete(topic)
    this.#gone.delete(keyOf(topic, group))
    return this.#topic(topic).group(group).consumer(id)
  }

  forgetConsumer(topic: string, group: string, id: string): void {
    const consumers = this.#topics.get(topic)?.groups.get(group)?.consumers
    consumers?.get(id)?.countUntimed()
    consumers?.delete(id)
  }

  /** The group as this process knows it. */
  group(topic: string, group: string): GroupScope | undefined {
    return this.#topics.get(topic)?.groups.get(group)
  }

  groupsOf(topic: string): ReadonlyMap<string, GroupScope> {
    return this.#topics.get(topic)?.groups ?? new Map()
  }

  forgetTopic(topic: string): void {
    this.#topics.delete(topic)
    this.#markGone(topic)
  }

  forgetGroup(topic: string, group: string): void {
    this.#topics.get(topic)?.groups.delete(group)
    this.#markGone(keyOf(topic, group))
  }

  /** Removes what the database did not have when it was read at `asked`; what was first counted since then stays. */
  keepOnly(existing: ReadonlyMap<string, ReadonlySet<string>>, asked: number): void {
    for (const [topic, scope] of this.#topics) {
      const groups = existing.get(topic)
      if (groups === undefined && scope.createdAt < asked) this.forgetTopic(topic)
      for (const [group, { createdAt, consumers }] of scope.groups) {
        if (groups?.has(group) !== true && createdAt < asked && consumers.size === 0) this.forgetGroup(topic, group)
      }
    }
  }

  /** Costs what has changed: unchanged parts are reused. */
  snapshot(pool: PoolUse): RecordedMetrics {
    const second = presentSecond()
    const { totals, rates } = this.#all.snapshot(second)
    return {
      totals,
      rates,
      latency: {
        publish: this.publish.snapshot(),
        claim: this.claim.snapshot(),
        settle: this.settle.snapshot(),
        heartbeat: this.heartbeat.snapshot(),
      },
      claimConflictRatio: totals.claims === 0 ? 0 : totals.claimConflicts / totals.claims,
      pool,
      topics: mapValues(this.#topics, topic => ({
        ...topic.snapshot(second),
        groups: mapValues(topic.groups, group => group.groupSnapshot(second)),
      })),
    }
  }

  #topic(name: string): TopicScope {
    let scope = this.#topics.get(name)
    if (scope === undefined) {
      scope = new TopicScope()
      this.#topics.set(name, scope)
    }
    return scope
  }

  #markGone(key: string): void {
    const now = performance.now()
    for (const [each, until] of this.#gone) if (until <= now) this.#gone.delete(each)
    this.#gone.set(key, now + GONE_MS)
  }

  #isGone(name: Counted, topic: string, group: string | undefined): boolean {
    const keys = group === undefined ? [topic] : [topic, keyOf(topic, group)]
    if (REVIVING.has(name)) for (const key of keys) this.#gone.delete(key)
    const now = performance.now()
    return keys.some(key => (this.#gone.get(key) ?? 0) > now)
  }
}

/** Names contain no slash. */
const keyOf = (topic: string, group: string): string => `${topic}/${group}`
