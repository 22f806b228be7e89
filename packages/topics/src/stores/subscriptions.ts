import type { BackfillPlan } from './backfills.ts'
import type {
  HeartbeatSettings,
  Resurrected,
  StartPosition,
  SubscriptionOfTopic,
  SubscriptionRecord,
  SubscriptionStatus,
} from './subscription-record.ts'
import type { TopicRecord } from './topic-record.ts'

/**
 * The groups of a topic: they come, go, die and come back. All times are the database's.
 *
 *     ACTIVE ⇄ PAUSED        ACTIVE ──heartbeats missed──▶ DEAD ──heartbeat, subscribe or admin──▶ ACTIVE
 *     any ──▶ CANCELLED ──retention──▶ removed
 *
 * Every activation is a new epoch: work done for one (dead clean-up, backfill) is done once.
 */
export type Subscriptions = {
  /**
   * The group's subscription, created at `from` (bounded by the plan's `maxMessages`) if it is new. An existing one
   * continues at its cursor; a dead one is resurrected. In a reference topic a new group's live stream begins now, and
   * a backfill delivers the messages from `from` to now.
   */
  subscribe(
    topic: TopicRecord,
    group: string,
    from: StartPosition,
    settings?: SubscriptionSettings,
  ): Promise<SubscriptionRecord>
  /** Returns the subscription of a group. */
  find(topic: TopicRecord, group: string): Promise<SubscriptionRecord | undefined>
  /** ACTIVE ⇄ PAUSED, any → CANCELLED; anything else is an InvalidTransitionError. */
  setStatus(topic: TopicRecord, subscription: SubscriptionRecord, status: SubscriptionStatus): Promise<void>
  /** DEAD → ACTIVE, else InvalidTransitionError. `continue`: where it stopped, bounded by `limit`; `skip`: at the present. */
  resurrect(topic: TopicRecord, subscription: SubscriptionRecord, mode: Resurrection): Promise<Resurrected>
  /** Closes leases and deletes retries. A position that was cleaned up is a PositionGoneError. */
  resetCursor(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    to: StartPosition,
    plan: BackfillPlan,
  ): Promise<void>
  /**
   * What `resetCursor` to this position would skip and deliver. Messages are counted one by one up to `most`. Throws
   * what the reset would throw.
   */
  previewReset(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    to: StartPosition,
    most: number,
  ): Promise<ResetPreviewRecord>
  /** Moves the cursor to the present; waiting messages are counted as lost to the group. Returns their number. */
  forceAdvance(topic: TopicRecord, subscription: SubscriptionRecord): Promise<number>
  /** Acknowledges the group's losses so far. Returns how many were not acknowledged before. */
  acknowledgeLoss(topic: TopicRecord, subscription: SubscriptionRecord): Promise<number>
  /** Deletes a CANCELLED or DEAD subscription with its leases and retries; its dead letters stay. */
  remove(topic: TopicRecord, subscription: SubscriptionRecord): Promise<void>
  /**
   * Subscriptions that have been CANCELLED or DEAD for longer than this; of reference topics only those whose bits are
   * cleared.
   */
  ended(olderThanMs: number): Promise<SubscriptionOfTopic[]>
  /** Live groups with messages waiting that have not moved for their topic's zombieTtl. */
  zombies(): Promise<Zombie[]>
}

/** Settings of `subscribe` besides the position. For an existing subscription, only the given ones are changed. */
export type SubscriptionSettings = {
  /** Heartbeats of the group. */
  readonly heartbeat?: Partial<HeartbeatSettings>
  /** Defaults of `heartbeat` for a new subscription. */
  readonly heartbeatDefaults?: HeartbeatSettings
  /** Earlier messages that a new group receives; false: none. A queue delivers all of its messages. */
  readonly backfill?: BackfillPlan | false
  /** Maximum number of messages that a resurrection redelivers; null: all. */
  readonly backfillLimit?: number | null
}

/** What a reset would do. */
export type ResetPreviewRecord = {
  /** Id up to which the group has claimed. */
  readonly fromId: number
  /** Id after which it would continue. */
  readonly toId: number
  /** Messages between the two positions. */
  readonly between: CountedRange
  /** Messages that would be waiting for the group. */
  readonly waiting: CountedRange
}

/** Messages of a range of ids. */
export type CountedRange = {
  /** Number of messages, or an upper limit. */
  readonly count: number
  /** Whether the number was counted, not estimated from ids. */
  readonly isExact: boolean
  /** The first message of the range, or null. */
  readonly first: RangeEnd | null
  /** The last message of the range, or null. */
  readonly last: RangeEnd | null
}

/** A message at the end of a range. */
export type RangeEnd = {
  /** Id of the message. */
  readonly id: number
  /** Time of the publish in milliseconds. */
  readonly at: number
  /** Key of the message, or null. */
  readonly key: string | null
}

/** How a dead group returns. */
export type Resurrection = {
  /** `continue`: where it stopped. `skip`: at the newest message. */
  readonly mode: 'continue' | 'skip'
  /** Maximum number of messages to redeliver; null: all. */
  readonly limit: number | null
  /** Settings of the backfill, in a reference topic. */
  readonly plan: BackfillPlan
}

/** A live group that has messages waiting and makes no progress. */
export type Zombie = SubscriptionOfTopic & {
  /** Time of its last progress. */
  readonly movedAt: number
  /** Number of waiting messages. */
  readonly waiting: number
}
