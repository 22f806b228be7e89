import type { TopicRecord } from './topic-record.ts'

export type StartPosition = 'now' | 'beginning' | { readonly timestamp: number } | { readonly messageId: string }

export type SubscriptionStatus = 'ACTIVE' | 'PAUSED' | 'DEAD' | 'CANCELLED'

export type HeartbeatSettings = {
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Dead after this many timeouts without a heartbeat. */
  readonly deadAfterMisses: number
}

export const DEFAULT_HEARTBEAT: HeartbeatSettings = { intervalMs: 60_000, timeoutMs: 300_000, deadAfterMisses: 3 }

export type Resurrected = {
  readonly epoch: number
  /** Messages that a bound, or `skip`, made it pass over. */
  readonly skipped: number
  /** Messages that were cleaned up while it was dead. */
  readonly lost: number
  /** What it missed is being brought. */
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
