import type { SparseHistogram } from '../observe/metrics/histogram.ts'
import type { Resurrected, SubscriptionOfTopic, SubscriptionStatus } from './subscription-record.ts'
import type { TopicRecord } from './topic-record.ts'

/** Heartbeats of groups and their consumers, and the detection of groups that send none. */
export type Heartbeats = {
  /**
   * Records the heartbeats of all groups of this process in one statement, on a connection of its own if the engine
   * has connections.
   */
  send(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]>
  /**
   * Lists the consumers of all processes by group, instance and name. Those without a heartbeat within the timeout are
   * omitted.
   */
  consumers(topic: TopicRecord): Promise<ConsumerRecord[]>
  /** Counts missed heartbeats and marks groups with too many as dead. Any number of processes may run it at once. */
  detectDead(): Promise<Detection>
}

/** Heartbeat of a group. */
export type Heartbeat = {
  /** Id of the subscription. */
  readonly subscriptionId: number
  /** Incarnation of the subscription. */
  readonly subscriptionUid: number
  /** Messages processed since the last heartbeat. */
  readonly processed: number
  /** Failed attempts since the last heartbeat. */
  readonly failed: number
  /** Messages rejected by filters since the last heartbeat. */
  readonly filtered: number
  /** Figures of the group's consumers in this process. They replace those of the previous heartbeat. */
  readonly activity?: GroupActivity
}

/** Work of a group in one process. */
export type GroupActivity = {
  /** Id of the open Tidemark; a process may have several. */
  readonly instance: string
  /** Figures of the last minute, or null when the last consumer has left. */
  readonly group: {
    /** Within the last minute. */
    readonly claims: number
    readonly claimConflicts: number
    readonly handler: SparseHistogram
  } | null
  /** Figures of each consumer. */
  readonly consumers: readonly ConsumerActivity[]
}

/** Figures of a consumer since it started. */
export type ConsumerActivity = {
  /** Name of the consumer. */
  readonly consumer: string
  /** Messages processed. */
  readonly processed: number
  /** Failed attempts. */
  readonly failed: number
  /** Handler durations. */
  readonly handler: SparseHistogram
  /** Milliseconds since the consumer started. */
  readonly ageMs: number
  /** Milliseconds since its last message, or null before the first. */
  readonly idleMs: number | null
}

/** Figures of a consumer, as last reported. */
export type ConsumerRecord = {
  /** Name of the group. */
  readonly group: string
  /** Id of the open Tidemark. */
  readonly instance: string
  /** Name of the consumer. */
  readonly consumer: string
  /** Messages processed. */
  readonly processed: number
  /** Failed attempts. */
  readonly failed: number
  /** Handler durations. */
  readonly handler: SparseHistogram
  /** Time at which the consumer started. */
  readonly startedAt: number
  /** Time of the report. */
  readonly reportedAt: number
  /** Time of its last message, or null. */
  readonly activeAt: number | null
}

/** Result of a heartbeat. */
export type HeartbeatResult = {
  /** Id of the subscription. */
  readonly subscriptionId: number
  /**
   * Status of the subscription. DEAD: the group can't return now, because the bitmaps of the reference topic have no
   * free bit.
   */
  readonly status: SubscriptionStatus | 'GONE'
  /** Set if this heartbeat reactivated a dead group. */
  readonly resurrected: Resurrected | null
}

/** Result of a detection run. */
export type Detection = {
  /** Groups that missed a heartbeat, with the number of misses and the limit. */
  readonly missed: readonly (SubscriptionOfTopic & { readonly misses: number; readonly of: number })[]
  /** Groups that were marked dead, with the time since their last heartbeat. */
  readonly dead: readonly (SubscriptionOfTopic & { readonly silentMs: number })[]
}
