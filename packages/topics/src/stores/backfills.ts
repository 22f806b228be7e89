import type { StartPosition, SubscriptionRecord, SubscriptionRef } from './subscription-record.ts'
import type { TopicRecord } from './topic-record.ts'

/** Backfills deliver to a group of a reference topic what was published before the group subscribed. */
export type Backfills = {
  /** Starts a backfill from a position up to the newest message. */
  start(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    from: StartPosition,
    plan: BackfillPlan,
  ): Promise<BackfillRecord>
  /** Takes over a RUNNING backfill that no process runs, of this subscription or of any. Returns null if there is none. */
  take(token: string, ttlMs: number, subscription?: SubscriptionRef): Promise<BackfillRecord | null>
  /**
   * Runs one batch, stores its checkpoint in the same transaction and renews the lease. `lost`: another process has
   * taken over.
   */
  runBatch(subscriptionId: number, batch: BackfillBatch): Promise<BackfillRecord | 'lost'>
  /** RUNNING → CANCELLED | FAILED; CANCELLED | FAILED → RUNNING. Anything else is a BackfillError. */
  setStatus(
    topic: TopicRecord,
    subscription: SubscriptionRef,
    status: 'RUNNING' | 'CANCELLED' | 'FAILED',
    error?: string,
  ): Promise<BackfillRecord>
  /** The last backfill of a subscription. */
  find(subscription: SubscriptionRef): Promise<BackfillRecord | undefined>
}

/** Which messages a backfill delivers. */
export type BackfillScope = 'pending' | 'retained'

/** Status of a backfill. */
export type BackfillStatus = 'RUNNING' | 'COMPLETED' | 'CANCELLED' | 'FAILED'

/** Settings of a backfill. */
export type BackfillPlan = {
  /**
   * `retained`: all retained messages. `pending`: only messages that some group has not processed yet, or that were
   * published without a subscription.
   */
  readonly scope: BackfillScope
  /** Maximum number of messages, the newest ones; null: all. */
  readonly maxMessages: number | null
  /** Messages per batch. */
  readonly batchSize: number
  /** Maximum messages per second. */
  readonly maxPerSecond: number
  /** Latency of the live path, in milliseconds, above which the backfill slows down. */
  readonly targetMs: number
}

/** One batch of a backfill. */
export type BackfillBatch = {
  /** Token of the process that runs the backfill. */
  readonly token: string
  /** Maximum number of messages. */
  readonly limit: number
  /** Milliseconds after which another process may take over. */
  readonly ttlMs: number
  /** Whether it is smaller than it could be, because of live traffic (default false). */
  readonly slowed?: boolean
}

/** A backfill as stored in the database. */
export type BackfillRecord = {
  /** Id of the topic. */
  readonly topicId: number
  /** Id of the subscription. */
  readonly subscriptionId: number
  /** Incarnation of the subscription. */
  readonly subscriptionUid: number
  /** Name of the group. */
  readonly group: string
  /** Activation of the group that it belongs to. */
  readonly epoch: number
  /** Status of the backfill. */
  readonly status: BackfillStatus
  /** Which messages it delivers. */
  readonly scope: BackfillScope
  /** Batch size and limits. */
  readonly settings: Pick<BackfillPlan, 'batchSize' | 'maxPerSecond' | 'targetMs'>
  /** Id after which it begins. */
  readonly lowerId: number
  /** Id at which it ends, fixed when it started. */
  readonly upperId: number
  /** Id up to which messages are marked for the group. */
  readonly checkpointId: number
  /** Id up to which the group has claimed them. */
  readonly cursorId: number
  /** Number of messages marked so far. */
  readonly processed: number
  /** Whether the last batch was slowed down for live traffic. */
  readonly slowed: boolean
  /** Time at which it started. */
  readonly startedAt: number
  /** Time of its last batch. */
  readonly updatedAt: number
  /** Time at which it ended, or null. */
  readonly endedAt: number | null
  /** Error with which it failed, or null. */
  readonly error: string | null
}
