import type { RunFacts } from './world/run-shapes.ts'

/** API responses, as far as the page reads them. Times are ISO strings; ids of messages are numbers. */

export type Status = 'ACTIVE' | 'PAUSED' | 'DEAD' | 'CANCELLED'

export type TopicConfig = {
  readonly semantics: 'queue' | 'pub-sub'
  readonly tracking: 'offset' | 'reference'
  readonly retentionMs: number | null
  readonly [option: string]: unknown
}

export type GroupLive = {
  readonly group: string
  readonly status: Status
  readonly healthy: boolean
  readonly cursor: number
  readonly watermark: number
  readonly lagMessages: number
  readonly lagMs: number
  readonly inFlight: number
  readonly retries: number
  readonly deadLetters: number
  readonly consumedPerSecond: number
  readonly sinceHeartbeatMs: number
  readonly members: number
  readonly backfill: Backfill | null
}

export type Backfill = {
  readonly status: 'RUNNING' | 'COMPLETED' | 'CANCELLED' | 'FAILED'
  readonly progress: number
  readonly processed: number
  readonly ratePerSecond: number
  readonly etaMs: number | null
  readonly slowed: boolean
  readonly endedAt?: string | null
  readonly error: string | null
}

export type TopicLive = {
  readonly topic: string
  readonly config: TopicConfig
  readonly first: number | null
  readonly last: number | null
  readonly kept: number
  readonly bytes: number | null
  readonly oldestAt: string | null
  readonly publishedPerSecond: number
  /** All groups, or with very many those that need attention first; all of a topic that is watched in detail. */
  readonly groups: readonly GroupLive[]
  readonly totals: GroupTotals
}

/** Of all groups of a topic, also those that are left out. */
export type GroupTotals = {
  readonly groups: number
  readonly lagMessages: number
  readonly deadLetters: number
  readonly late: number
  readonly paused: number
  readonly dead: number
  readonly cancelled: number
}

export type Attention = {
  readonly severity: 'bad' | 'warning'
  readonly kind: string
  readonly topic?: string
  readonly group?: string
  readonly service?: string
  readonly runId?: string
  readonly since: string | null
  readonly count?: number
  readonly text: string
}

export type GraphNode = {
  readonly id: string
  readonly kind: 'service' | 'topic' | 'queue' | 'storage' | 'index'
  readonly name: string
  readonly state: string | null
  readonly healthy: boolean
}

export type GraphEdge = {
  readonly from: string
  readonly to: string
  readonly binding: string
  readonly group: string | null
  readonly perSecond: number | null
  readonly backlog: number
  readonly capacity: number | null
  readonly fill: number | null
}

export type Graph = { readonly nodes: readonly GraphNode[]; readonly edges: readonly GraphEdge[] }

export type Overview = {
  readonly at: string
  readonly topics: readonly TopicLive[]
  /** Number of topics that are left out. */
  readonly omitted: number
  readonly attention: readonly Attention[]
  readonly pipeline: Graph | null
  readonly newestRun: RunFacts | null
}

/** GET /topics/:topic/lanes?from&to&buckets=200 */
export type Lanes = {
  readonly takenAt: string
  readonly first: number | null
  readonly last: number | null
  /**
   * Equal parts of the log by ids; `at` is the time of the first message in each, so the density is the count divided
   * by the time.
   */
  readonly buckets: readonly { readonly position: number; readonly at: string | null; readonly count: number }[]
  readonly groups: readonly GroupLane[]
}

export type GroupLane = {
  readonly group: string
  readonly status: Status
  readonly healthy: boolean
  readonly cursor: number
  readonly watermark: number
  readonly lagMessages: number
  readonly lagMs: number
  readonly inFlight: number
  readonly retryCount: number
  readonly deadLetterCount: number
  readonly leases: readonly {
    readonly from: number
    readonly to: number
    readonly consumer: string
    readonly until: string | null
    readonly attempt: number
  }[]
  readonly retries: readonly { readonly id: number; readonly due: string; readonly attempt: number }[]
  readonly deadLetters: readonly number[]
}

/** POST /topics/:topic/config/preview with the options of PUT /topics/:topic */
export type ConfigPreview = {
  readonly changes: readonly { readonly setting: string; readonly from: unknown; readonly to: unknown }[]
  readonly mayRemove: number
}

/**
 * Event `lanes` of /events?detail=topic:<topic>, up to four times a second. `buckets` is null when the ones before still hold;
 * with `whole: false`, `groups` are those that have changed.
 */
export type TopicDetail = Omit<Lanes, 'buckets'> & {
  readonly topic: string
  readonly buckets: Lanes['buckets'] | null
  readonly whole: boolean
}
