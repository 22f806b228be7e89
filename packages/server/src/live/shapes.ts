import type { GraphEdge, GraphNode } from '@tidemark/pipeline'
import type { BackfillProgress, SubscriptionStatus, TopicConfig } from 'tidemark'

/** A group as shown on the page. */
export type GroupLive = {
  readonly group: string
  readonly status: SubscriptionStatus
  readonly healthy: boolean
  /** Id up to which the group has claimed. */
  readonly cursor: number
  /** Id up to which the group has settled everything. */
  readonly watermark: number
  readonly lagMessages: number
  readonly lagMs: number
  readonly inFlight: number
  readonly retries: number
  readonly deadLetters: number
  readonly consumedPerSecond: number
  readonly sinceHeartbeatMs: number
  readonly members: number
  readonly backfill: BackfillProgress | null
}

/** A topic as shown on the page. */
export type TopicLive = {
  readonly topic: string
  readonly config: TopicConfig
  readonly first: number | null
  readonly last: number | null
  readonly kept: number
  readonly bytes: number
  readonly oldestAt: Date | null
  readonly publishedPerSecond: number
  /** All of them, or in an overview those that need attention first. */
  readonly groups: readonly GroupLive[]
  /** Of all groups of the topic, also those that are left out. */
  readonly totals: GroupTotals
}

/** What the groups of a topic come to. */
export type GroupTotals = {
  readonly groups: number
  readonly lagMessages: number
  readonly deadLetters: number
  /** Active groups that are not healthy. */
  readonly late: number
  readonly paused: number
  readonly dead: number
  readonly cancelled: number
}

/** Something that needs attention. */
export type Attention = {
  readonly severity: 'bad' | 'warning'
  readonly kind: string
  readonly topic?: string
  readonly group?: string
  readonly service?: string
  readonly runId?: string
  readonly since: Date | null
  readonly count?: number
  readonly text: string
}

/** A binding of the pipeline with its current throughput. */
export type GraphEdgeLive = Omit<GraphEdge, 'backlog'> & { readonly perSecond: number | null; readonly backlog: number }

export type GraphLive = { readonly nodes: readonly GraphNode[]; readonly edges: readonly GraphEdgeLive[] }
