import type { RawMessage } from '../payload/raw-message.ts'
import type { ByteBounds } from './byte-bounds.ts'
import type { FailedAttempt, FailureRecord } from './failure-record.ts'
import type { SubscriptionRecord, SubscriptionStatus } from './subscription-record.ts'
import type { TopicRecord } from './topic-record.ts'

/**
 * A **lease** holds a page of messages for one consumer. Its slots are numbered from 0; every settlement names the
 * lease's token and the slots. A lease is in one of three states:
 *
 *     LIVE ──all slots settled──▶ DONE       (remembered for a while, so that settling again succeeds)
 *       └──taken over / closed──▶ EXPIRED    (unsettled slots became retry rows; settling those is stale)
 */
export type Leases = {
  claim(request: ClaimRequest): Promise<ClaimResult>
  /** Each settlement in turn, all in one transaction. Results in the same order. */
  settle(settlements: readonly Settlement[]): Promise<SettleResult[]>
  /** Moves the lease's deadline to now + ms, with 0 to never; false where the lease is no longer live. */
  extend(token: string, ms: number): Promise<boolean>
  /** The slots of a lease that is remembered, whatever its state; undefined where there is none. */
  size(token: string): Promise<number | undefined>
  /** Live leases, the oldest first. */
  list(topic: TopicRecord, query: ClaimsQuery): Promise<ClaimRecord[]>
  /** Ends a live lease as if it had run out now; undefined where the topic has no such lease. */
  release(topic: TopicRecord, token: string): Promise<ReleasedClaim | undefined>
  /** What waits to be delivered to the group again, by message id. */
  retries(topic: TopicRecord, subscription: SubscriptionRecord, query: RetryQuery): Promise<RetryRecord[]>
  /** The namespace's secret for receipts: the same in every process, and in a copy of the namespace. */
  receiptKey(): Promise<Uint8Array>
  /** A group of this process no longer reads the topic. `shared`: others still read its rows together. */
  forgetReader(topicId: number, subscriptionId: number, shared: boolean): void
}

export type ClaimRequest = {
  readonly topic: TopicRecord
  readonly subscription: SubscriptionRecord
  readonly consumer: string
  readonly limit: number
  /** Which suspects this claim may bring. */
  readonly suspects: Suspects
  /** How long the lease holds; 0: for ever; null: as the topic says. */
  readonly leaseMs: number | null
  /** Look for expired leases too. */
  readonly sweep: boolean
  /** Leases this process knows to be settled for good: their memory may go. */
  readonly forget: readonly string[]
  /** Payload bytes that the consumer takes; more are read for nothing. SQLite claims no more, but for one message. */
  readonly maxBytes?: number | undefined
  /** Several groups of this process read the topic, so rows are worth keeping in the row cache. */
  readonly shared: boolean
}

/**
 * Suspects are messages whose earlier lease ran out: one of them may have killed its process. They come back in pieces
 * (pieces.ts), one piece a lease; those on their last attempt come alone, before all others, to a process that has nothing
 * else in hand.
 */
export type Suspects = 'none' | 'shared' | 'alone'

export type ClaimResult = {
  /** AHEAD: the group's cursor lies ahead of what the database knows. Nothing is claimed; a repair is needed. */
  readonly status: SubscriptionStatus | 'GONE' | 'AHEAD'
  readonly lease: Lease | null
  /** Expired leases whose messages became retries during this claim. */
  readonly takeOvers: readonly TakeOver[]
  /** Messages of expired leases that were out of attempts and became dead letters during this claim. */
  readonly deadLettered: number
  /** Suspects that are due and that this claim was not allowed to bring. */
  readonly waiting: Suspects
  /** Another claim of the same group held the subscription. */
  readonly conflict: boolean
  /**
   * Where nothing was claimed: milliseconds until the group's next retry is due or (when sweeping) next lease runs out;
   * null where there is none.
   */
  readonly nextDueMs: number | null
  readonly configVersion: number
  /** How often the group's cursor had moved before, and has moved now: only ever more, unless the database lost commits. */
  readonly moves: { readonly before: number; readonly after: number }
}

export type TakeOver = {
  readonly token: string
  /** Who held them. */
  readonly consumer: string
  readonly count: number
  /** The first of them, MOST_NAMED at most; `version` is the one that was held. */
  readonly messages: readonly TakenMessage[]
}

export type TakenMessage = {
  readonly id: number
  /** null where the log no longer has the message. */
  readonly salt: number | null
  readonly messageId: string | null
  readonly version: number
}

export const MOST_NAMED = 20

export type Lease = {
  readonly token: string
  /** Number of slots; `messages[i]` stands in slot `slots[i]`, or in slot i where `slots` is null. */
  readonly size: number
  readonly messages: readonly RawMessage[]
  readonly slots: readonly number[] | null
  /** How often each message has been claimed (its version), null where all are at 1. */
  readonly versions: readonly number[] | null
  /** Claims that count against maxAttempts, this one included; null where all are at 1. */
  readonly attempts: readonly number[] | null
  /** Whether they are suspects: a piece of an expired lease, or one alone. */
  readonly suspects: Suspects
}

export type Settlement = {
  readonly token: string
  /** The lease's slots: what a settlement of a lease that is long forgotten came too late for. */
  readonly size: number
  readonly maxAttempts: number
  /** Slots to acknowledge; 'all' = every slot of the lease. */
  readonly acks: readonly number[] | 'all'
  readonly nacks: readonly Nack[]
  /** Slots given back untouched: due at once, and the claim doesn't count as an attempt. */
  readonly releases: readonly number[]
}

export type Nack = { readonly slot: number; readonly delayMs: number; readonly error: FailureRecord }

export type SettleResult = {
  /** Slots that changed nothing because the lease is no longer this consumer's. */
  readonly stale: readonly number[]
  /** Nacked slots that went to the dead letters rather than to be tried again. */
  readonly deadLettered: readonly number[]
  /** The lease has no unsettled slot left (or is gone): it may be forgotten. */
  readonly finished: boolean
  /** The database knows of no such lease. */
  readonly unknown?: boolean
}

export type ClaimsQuery = {
  readonly subscriptionId?: number
  readonly consumer?: string
  /** Those after this one. */
  readonly after?: Pick<ClaimRecord, 'place' | 'token'>
  readonly limit: number
  /** How many messages are named of each. */
  readonly named: number
}

export type ClaimRecord = {
  readonly token: string
  readonly group: string
  readonly consumer: string
  readonly size: number
  readonly claimedAt: number
  readonly deadline: number | null
  /** When it was claimed, as exactly as the store knows it. */
  readonly place: string
  readonly unsettled: number
  readonly firstId: number | null
  readonly lastId: number | null
  readonly messages: readonly (TakenMessage & { readonly attempt: number })[]
}

export type ReleasedClaim = TakeOver & { readonly group: string; readonly deadLettered: number }

export type RetryQuery = { readonly after: number; readonly limit: number } & Pick<ByteBounds, 'maxBytes'>

export type RetryRecord = {
  /** The message's. */
  readonly id: number
  /** null where the message is gone from the log. */
  readonly salt: number | null
  /** The log's messageId where the caller gave one. */
  readonly messageId: string | null
  readonly key: string | null
  /** null: JSON. */
  readonly type: string | null
  /** null where the message is gone from the log. */
  readonly createdAt: number | null
  readonly attempts: number
  readonly dueAt: number
  readonly suspect: boolean
  readonly history: readonly FailedAttempt[]
}
