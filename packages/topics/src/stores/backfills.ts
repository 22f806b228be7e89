import type { StartPosition, SubscriptionRecord, SubscriptionRef } from './subscription-record.ts'
import type { TopicRecord } from './topic-record.ts'

/** Backfills bring a group of a reference topic what was published before it came. */
export type Backfills = {
  start(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    from: StartPosition,
    plan: BackfillPlan,
  ): Promise<BackfillRecord>
  /** Takes a RUNNING backfill that nobody runs (of this subscription, or any); null where there is none. */
  take(token: string, ttlMs: number, subscription?: SubscriptionRef): Promise<BackfillRecord | null>
  /** One batch and its checkpoint, in one transaction, and the lease renewed. `lost`: another process has taken it over. */
  runBatch(subscriptionId: number, batch: BackfillBatch): Promise<BackfillRecord | 'lost'>
  /** RUNNING → CANCELLED | FAILED; CANCELLED | FAILED → RUNNING; else BackfillError. */
  setStatus(
    topic: TopicRecord,
    subscription: SubscriptionRef,
    status: 'RUNNING' | 'CANCELLED' | 'FAILED',
    error?: string,
  ): Promise<BackfillRecord>
  find(subscription: SubscriptionRef): Promise<BackfillRecord | undefined>
}

export type BackfillScope = 'pending' | 'retained'

export type BackfillStatus = 'RUNNING' | 'COMPLETED' | 'CANCELLED' | 'FAILED'

export type BackfillPlan = {
  /** `pending`: what some group still has to process or nobody was there for. `retained`: all that is kept. */
  readonly scope: BackfillScope
  /** The newest so many; null: all. */
  readonly maxMessages: number | null
  readonly batchSize: number
  readonly maxPerSecond: number
  readonly targetMs: number
}

export type BackfillBatch = { readonly token: string; readonly limit: number; readonly ttlMs: number }

export type BackfillRecord = {
  readonly topicId: number
  readonly subscriptionId: number
  readonly subscriptionUid: number
  readonly group: string
  readonly epoch: number
  readonly status: BackfillStatus
  readonly scope: BackfillScope
  readonly settings: Pick<BackfillPlan, 'batchSize' | 'maxPerSecond' | 'targetMs'>
  readonly lowerId: number
  readonly upperId: number
  readonly checkpointId: number
  /** Claimed up to here. */
  readonly cursorId: number
  /** Bits set so far. */
  readonly processed: number
  readonly startedAt: number
  readonly updatedAt: number
  readonly endedAt: number | null
  readonly error: string | null
}
