/** What the processes of a checkpoint tell each other. */
import type { BackfillOptions, From, HeartbeatOptions, MaintenanceOptions, Percentiles } from 'tidemark'

/** About 200 bytes of JSON. `n` counts from 0 in each publisher. */
export type Load = { readonly n: number; readonly sentAt: number; readonly note: string }

export type PublishWork = {
  readonly url: string
  readonly namespace?: string
  readonly topic: string
  readonly perSecond: number
  /** One transaction per message instead of one per batch that is due. */
  readonly single?: boolean
}

export type PublishReport = {
  readonly published: number
  /** Since the last report: milliseconds of each publish. */
  readonly durations: readonly number[]
  /** How far it is behind its schedule. */
  readonly lateMs: number
}

export type Subscribed = {
  readonly topic: string
  readonly group: string
  readonly namespace?: string
  readonly from?: From
  readonly heartbeat?: HeartbeatOptions
  readonly backfill?: BackfillOptions | false
  readonly batchSize?: number
  readonly consumers?: number
  /** How long a handler takes; 0: it only counts. */
  readonly handlerMs?: number
  /** Counts each `n` once. */
  readonly distinct?: boolean
  /** Folder of a file to which each `n` is written before its handler ends, so that a kill loses none. */
  readonly record?: string
}

export type ConsumeWork = {
  readonly url: string
  readonly subscriptions: readonly Subscribed[]
  readonly maintenance?: MaintenanceOptions | false
  readonly poolSize?: number
  readonly rowCacheBytes?: number
  /** PostgreSQL: times so many of `select 1` in sequence, now and then, which shows what the machine itself takes. */
  readonly roundTrips?: number
  /** The statement of the round trips (default `select 1`). */
  readonly roundTrip?: string
  /** Collects garbage before the heap is measured, which costs time. */
  readonly collectGarbage?: boolean
}

export type GroupReport = {
  readonly topic: string
  readonly group: string
  readonly delivered: number
  /** Different messages, where that was asked for. */
  readonly distinct: number
  readonly redelivered: number
  /** Messages from before the group was started. */
  readonly earlier: number
  /** Since the last report: from publish to handler. */
  readonly latencies: readonly number[]
}

export type ConsumeReport = {
  readonly groups: readonly GroupReport[]
  readonly claim: Percentiles
  readonly roundTrips: readonly number[]
  readonly rssMB: number
  /** null: not measured this time. */
  readonly heapMB: number | null
  readonly handles: number
  readonly errors: readonly string[]
}
