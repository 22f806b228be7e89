import type { TopicRecord } from './topic-record.ts'

export type StartPosition = 'now' | 'beginning' | { readonly timestamp: number } | { readonly messageId: string }

/** Status of a subscription. */
export type SubscriptionStatus = 'ACTIVE' | 'PAUSED' | 'DEAD' | 'CANCELLED'

export type HeartbeatSettings = {
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Dead after this many timeouts without a heartbeat. */
  readonly deadAfterMisses: number
}

export const DEFAULT_HEARTBEAT: HeartbeatSettings = { intervalMs: 60_000, timeoutMs: 300_000, deadAfterMisses: 3 }

/** Result of `resurrectGroup`. */
export type Resurrected = {
  /** Number of the new activation. */
  readonly epoch: number
  /** Number of messages skipped by a limit or `backfill: false`. */
  readonly skipped: number
  /** Number of messages cleaned up while the group was dead. */
  readonly lost: number
  /** Whether a backfill delivers the missed messages. */
  readonly backfill: boolean
}

export type SubscriptionRecord = {
  readonly id: number
  /** 52 random bits: its incarnation. Ids are given again in a namespace that was made anew or restored. */
  readonly uid: number
  readonly topicId: number
  /** '' is the implicit group of a queue. */
  readonly group: string
  readonly status: SubscriptionStatus
  readonly epoch: number
  readonly heartbeat: HeartbeatSettings
  /** True where this call made it. */
  readonly created: boolean
  /** Retained messages that the bound given left out of what a new group begins with. */
  readonly skipped: number
  /** This call brought it back from the dead. */
  readonly resurrected: Resurrected | null
}

/** Which subscription it is. */
export type SubscriptionRef = Pick<SubscriptionRecord, 'id' | 'uid' | 'group'>

export type SubscriptionOfTopic = { readonly topic: TopicRecord; readonly subscription: SubscriptionRecord }
