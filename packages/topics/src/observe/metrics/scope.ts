import { ConsumerMeter, type ConsumerMetrics } from './consumer-meter.ts'
import { Histogram, type Percentiles } from './histogram.ts'
import { Meter, presentSecond } from './meter.ts'

/** Counters, kept for the whole, for each topic and for each group. */
const COUNTED = [
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
  'rewound',
  'cleaned',
  'jobsRun',
  'jobsFailed',
] as const

/** Name of a counter. */
export type Counted = (typeof COUNTED)[number]
/** Counters by name. */
export type Counts = { readonly [name in Counted]: number }

/** Figures of a scope: all topics, a topic or a group. */
export type ScopeMetrics = {
  /** Counts since the process started. */
  readonly totals: Counts
  /** Counts per second over the last minute. */
  readonly rates: Counts
}

/** Claims that had to wait for another claim of the same group. */
export type ClaimConflicts = {
  /** Conflicts of the last minute. */
  readonly lastMinute: number
  /** Share of the claims of the last minute, 0 to 1. */
  readonly ratio: number
}

/** Figures of a group in this process. */
export type GroupMetrics = ScopeMetrics & {
  /** Handler durations in milliseconds in this process. */
  readonly handler: Percentiles
  /** Claims that had to wait for another claim of the same group. */
  readonly claimConflicts: ClaimConflicts
  /** Consumers of the group in this process. */
  readonly consumers: { readonly [consumer: string]: ConsumerMetrics }
}

const NONE = Object.freeze(Object.fromEntries(COUNTED.map(name => [name, 0]))) as Counts

/**
 * Counters of one topic, one group or the whole. A counter exists once it was used, so that reading costs only what
 * happened.
 */
export class Scope {
  readonly createdAt = performance.now()
  readonly #startedAt = presentSecond()
  readonly #meters = new Map<Counted, Meter>()
  /** The last `snapshot`, while it is valid. */
  #snapshot: ScopeMetrics = { totals: NONE, rates: NONE }
  #isChanged = false
  #takenAt = 0

  add(name: Counted, count: number, second: number): void {
    let meter = this.#meters.get(name)
    if (meter === undefined) {
      meter = new Meter(this.#startedAt)
      this.#meters.set(name, meter)
    }
    meter.add(count, second)
    this.#isChanged = true
  }

  lastMinute(name: Counted, second: number): number {
    return this.#meters.get(name)?.lastMinute(second) ?? 0
  }

  /** Rebuilt if something was counted, or while what was counted ages. */
  snapshot(second: number): ScopeMetrics {
    const isAging = this.#snapshot.rates !== NONE && this.#takenAt !== second
    if (this.#isChanged) this.#snapshot = { totals: this.#totals(), rates: this.#rates(second) }
    else if (isAging) this.#snapshot = { totals: this.#snapshot.totals, rates: this.#rates(second) }
    this.#isChanged = false
    this.#takenAt = second
    return this.#snapshot
  }

  #totals(): Counts {
    const totals: { [name in Counted]: number } = { ...NONE }
    for (const [name, meter] of this.#meters) totals[name] = meter.total
    return totals
  }

  #rates(second: number): Counts {
    const rates: { [name in Counted]: number } = { ...NONE }
    let any = 0
    for (const [name, meter] of this.#meters) {
      rates[name] = meter.rate(second)
      any += rates[name]
    }
    return any === 0 ? NONE : rates
  }
}

export class GroupScope extends Scope {
  readonly #handler = new Histogram()
  readonly consumers = new Map<string, ConsumerMeter>()

  /** The durations of all its handlers. */
  get handler(): Histogram {
    for (const meter of this.consumers.values()) meter.countUntimed()
    return this.#handler
  }

  consumer(id: string): ConsumerMeter {
    let meter = this.consumers.get(id)
    if (meter === undefined) {
      meter = new ConsumerMeter(this.#handler)
      this.consumers.set(id, meter)
    }
    return meter
  }

  groupSnapshot(second: number): GroupMetrics {
    const { totals, rates } = this.snapshot(second)
    return {
      totals,
      rates,
      handler: this.handler.snapshot(),
      claimConflicts: this.claimConflicts(second),
      consumers: this.consumers.size === 0 ? {} : mapValues(this.consumers, meter => meter.snapshot()),
    }
  }

  claimConflicts(second = presentSecond()): ClaimConflicts {
    const lastMinute = this.lastMinute('claimConflicts', second)
    return { lastMinute, ratio: lastMinute === 0 ? 0 : lastMinute / this.lastMinute('claims', second) }
  }
}

export class TopicScope extends Scope {
  readonly groups = new Map<string, GroupScope>()

  group(name: string): GroupScope {
    let scope = this.groups.get(name)
    if (scope === undefined) {
      scope = new GroupScope()
      this.groups.set(name, scope)
    }
    return scope
  }
}

export const mapValues = <From, To>(
  map: ReadonlyMap<string, From>,
  read: (value: From) => To,
): { [name: string]: To } => {
  const values: { [name: string]: To } = {}
  for (const [name, value] of map) values[name] = read(value)
  return values
}
