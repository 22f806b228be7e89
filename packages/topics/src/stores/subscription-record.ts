import type { TopicRecord } from './topic-record.ts'

/** Where a group starts. */
export type StartPosition = 'now' | 'beginning' | { readonly timestamp: number } | { readonly messageId: string }

/** Status of a subscription. */
export type SubscriptionStatus = 'ACTIVE' | 'PAUSED' | 'DEAD' | 'CANCELLED'

/** Heartbeats of a group. */
export type HeartbeatSettings = {
  /** Milliseconds between two heartbeats. */
  readonly intervalMs: number
  /** Milliseconds without a heartbeat that count as a miss. */
  readonly timeoutMs: number
  /** Misses after which the group is dead. */
  readonly deadAfterMisses: number
}

/** Heartbeats of a group by default. */
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

/** A subscription as stored in the database. */
export type SubscriptionRecord = {
  /** Id of the subscription. */
  readonly id: number
  /** Incarnation of the subscription: 52 random bits. Ids are reused in a namespace that was created again or restored. */
  readonly uid: number
  /** Id of the topic. */
  readonly topicId: number
  /** Name of the group; '' is the implicit group of a queue. */
  readonly group: string
  /** Status of the subscription. */
  readonly status: SubscriptionStatus
  /** Number of the activation: grows with each resurrection. */
  readonly epoch: number
  /** Heartbeats of the group. */
  readonly heartbeat: HeartbeatSettings
  /** Whether this call created the subscription. */
  readonly created: boolean
  /** Number of retained messages that a new group does not receive because of its limit. */
  readonly skipped: number
  /** Set if this call reactivated a dead group. */
  readonly resurrected: Resurrected | null
}

/** Identity of a subscription. */
export type SubscriptionRef = Pick<SubscriptionRecord, 'id' | 'uid' | 'group'>

/** A subscription with its topic. */
export type SubscriptionOfTopic = {
  /** The topic. */
  readonly topic: TopicRecord
  /** The subscription. */
  readonly subscription: SubscriptionRecord
}
