import type { SparseHistogram } from '../observe/metrics/histogram.ts'
import type { Resurrected, SubscriptionOfTopic, SubscriptionStatus } from './subscription-record.ts'
import type { TopicRecord } from './topic-record.ts'

/** Signs of life: what groups and their consumers report, and which groups have fallen silent. */
export type Heartbeats = {
  /** One statement for all groups of the process, on a connection of its own where the engine has connections. */
  send(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]>
  /** Of all processes, by group, instance and name; those not heard of for a heartbeat timeout are left out. */
  consumers(topic: TopicRecord): Promise<ConsumerRecord[]>
  /** Counts misses and marks dead what has too many. Any number of processes may run it at once. */
  detectDead(): Promise<Detection>
}

export type Heartbeat = {
  readonly subscriptionId: number
  readonly subscriptionUid: number
  /** Since the last heartbeat. */
  readonly processed: number
  readonly failed: number
  readonly filtered: number
  /** What this process's consumers of the group have done; what it reported before and does not now is gone. */
  readonly activity?: GroupActivity
}

/** A group's work in one process. */
export type GroupActivity = {
  /** The open Tidemark: a process may have several. */
  readonly instance: string
  /** null when the last consumer has left. */
  readonly group: {
    /** Within the last minute. */
    readonly claims: number
    readonly claimConflicts: number
    readonly handler: SparseHistogram
  } | null
  readonly consumers: readonly ConsumerActivity[]
}

/** Since the consumer began. */
export type ConsumerActivity = {
  readonly consumer: string
  readonly processed: number
  readonly failed: number
  readonly handler: SparseHistogram
  readonly ageMs: number
  /** null before its first message. */
  readonly idleMs: number | null
}

/** As it was reported last. */
export type ConsumerRecord = {
  readonly group: string
  readonly instance: string
  readonly consumer: string
  readonly processed: number
  readonly failed: number
  readonly handler: SparseHistogram
  readonly startedAt: number
  readonly reportedAt: number
  readonly activeAt: number | null
}

export type HeartbeatResult = {
  readonly subscriptionId: number
  /** DEAD: it can't come back now, because a reference topic's bitmaps have no place for it. */
  readonly status: SubscriptionStatus | 'GONE'
  /** This heartbeat brought the group back from the dead. */
  readonly resurrected: Resurrected | null
}

export type Detection = {
  readonly missed: readonly (SubscriptionOfTopic & { readonly misses: number; readonly of: number })[]
  readonly dead: readonly (SubscriptionOfTopic & { readonly silentMs: number })[]
}
