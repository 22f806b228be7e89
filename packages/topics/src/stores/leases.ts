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
  /** Claims the next messages of a group for a consumer: due retries first, otherwise the next page of the log. */
  claim(request: ClaimRequest): Promise<ClaimResult>
  /** Applies settlements in order, in one transaction. The results are in the same order. */
  settle(settlements: readonly Settlement[]): Promise<SettleResult[]>
  /**
   * Moves the deadline of a lease to `ms` from now; with 0 it never expires. Returns false if the lease is no longer
   * live.
   */
  extend(token: string, ms: number): Promise<boolean>
  /** Number of slots of a lease in any state, or undefined if the lease is unknown. */
  size(token: string): Promise<number | undefined>
  /** Lists live leases, the oldest first. */
  list(topic: TopicRecord, query: ClaimsQuery): Promise<ClaimRecord[]>
  /** Sums up the live leases of a group by their holder. */
  holders(topic: TopicRecord, subscription: SubscriptionRecord): Promise<LeaseHolder[]>
  /** Ends a live lease as if it had expired now. Returns undefined if the topic has no such lease. */
  release(topic: TopicRecord, token: string): Promise<ReleasedClaimRecord | undefined>
  /** Lists the messages that wait for redelivery to the group, by message id. */
  retries(topic: TopicRecord, subscription: SubscriptionRecord, query: RetryQuery): Promise<RetryRecord[]>
  /** Secret of the namespace that signs receipts. It is the same in every process and in a copy of the namespace. */
  receiptKey(): Promise<Uint8Array>
  /**
   * Tells the store that a group of this process no longer reads the topic. `shared`: other groups still share its
   * rows.
   */
  forgetReader(topicId: number, subscriptionId: number, shared: boolean): void
}

/** A holder of messages of a group. */
export type LeaseHolder = {
  /** Name of the consumer; several that share a claim are joined by commas. */
  readonly consumer: string
  /** Number of unsettled messages. */
  readonly inFlight: number
  /** Time at which the first of its leases expires; null: none ever does. */
  readonly until: number | null
}

/** A claim by one consumer. */
export type ClaimRequest = {
  /** Topic to claim from. */
  readonly topic: TopicRecord
  /** Subscription of the group. */
  readonly subscription: SubscriptionRecord
  /** Name of the consumer. */
  readonly consumer: string
  /** Maximum number of messages. */
  readonly limit: number
  /** Suspects that this claim may return. */
  readonly suspects: Suspects
  /** Duration of the lease in milliseconds; 0: it never expires; null: the lease of the topic. */
  readonly leaseMs: number | null
  /** Whether expired leases are taken over, too. */
  readonly sweep: boolean
  /** Tokens of finished leases that the store no longer has to remember. */
  readonly forget: readonly string[]
  /** Maximum payload bytes that the consumer accepts. SQLite claims no more than that, but at least one message. */
  readonly maxBytes?: number | undefined
  /** Whether several groups of this process read the topic, so that rows are worth caching. */
  readonly shared: boolean
}

/**
 * Suspects are messages whose earlier lease expired: one of them may have killed its process. They come back in
 * pieces (pieces.ts), one piece per lease. A suspect on its last attempt comes back alone, before all others, to a
 * process that holds nothing else.
 */
export type Suspects = 'none' | 'shared' | 'alone'

/** Result of a claim. */
export type ClaimResult = {
  /**
   * Status of the subscription. AHEAD: the cursor of the group is ahead of the database; nothing is claimed, and a
   * repair is required.
   */
  readonly status: SubscriptionStatus | 'GONE' | 'AHEAD'
  /** The new lease, or null if there was nothing to claim. */
  readonly lease: Lease | null
  /** Expired leases whose messages became retries during this claim. */
  readonly takeOvers: readonly TakeOver[]
  /** Number of messages of expired leases that had no attempts left and were dead-lettered during this claim. */
  readonly deadLettered: number
  /** Suspects that are due but that this claim was not allowed to return. */
  readonly waiting: Suspects
  /** Whether another claim of the same group held the subscription. */
  readonly conflict: boolean
  /**
   * If nothing was claimed: milliseconds until the next retry of the group is due or, with `sweep`, its next lease
   * expires; null if there is neither.
   */
  readonly nextDueMs: number | null
  /** Version of the topic's configuration. */
  readonly configVersion: number
  /**
   * How often the cursor of the group had moved before and after the claim. The number only grows, unless the database
   * lost commits.
   */
  readonly moves: { readonly before: number; readonly after: number }
}

/** An expired lease whose messages became retries. */
export type TakeOver = {
  /** Token of the lease. */
  readonly token: string
  /** Consumer that held the messages. */
  readonly consumer: string
  /** Number of unsettled messages. */
  readonly count: number
  /** The first of them, at most MOST_NAMED; `version` is the version that was held. */
  readonly messages: readonly TakenMessage[]
}

/** A message of an expired lease. */
export type TakenMessage = {
  /** Id of the message. */
  readonly id: number
  /** Salt of the message, or null if it is no longer in the log. */
  readonly salt: number | null
  /** Stored messageId, or null if the publisher gave none. */
  readonly messageId: string | null
  /** Number of times that the message was claimed. */
  readonly version: number
}

/** Maximum number of messages that a take-over lists. */
export const MOST_NAMED = 20

/** A page of messages held by one consumer. */
export type Lease = {
  /** Token that settlements name. */
  readonly token: string
  /** Number of slots. `messages[i]` is in slot `slots[i]`, or in slot i if `slots` is null. */
  readonly size: number
  /** The messages. */
  readonly messages: readonly RawMessage[]
  /** Slot of each message; null: the message at index i has slot i. */
  readonly slots: readonly number[] | null
  /** Number of times that each message was claimed (its version); null: 1 for all. */
  readonly versions: readonly number[] | null
  /** Claims of each message that count against maxAttempts, including this one; null: 1 for all. */
  readonly attempts: readonly number[] | null
  /** Whether the messages are suspects: a piece of an expired lease, or a single message. */
  readonly suspects: Suspects
}

/** Acks, nacks and releases of one lease. */
export type Settlement = {
  /** Token of the lease. */
  readonly token: string
  /** Number of slots of the lease, needed if the store no longer remembers it. */
  readonly size: number
  /** Attempts after which a nacked message is dead-lettered. */
  readonly maxAttempts: number
  /** Slots to acknowledge; 'all': every slot of the lease. */
  readonly acks: readonly number[] | 'all'
  /** Slots to retry or dead-letter. */
  readonly nacks: readonly Nack[]
  /** Slots returned unprocessed. They are due at once, and the claim does not count as an attempt. */
  readonly releases: readonly number[]
}

/** A failed message. */
export type Nack = {
  /** Slot of the message. */
  readonly slot: number
  /** Milliseconds until it is due again. */
  readonly delayMs: number
  /** Error of the attempt. */
  readonly error: FailureRecord
}

/** Result of one settlement. */
export type SettleResult = {
  /** Slots that were not changed because the consumer no longer holds the lease. */
  readonly stale: readonly number[]
  /** Nacked slots that were dead-lettered because they had no attempts left. */
  readonly deadLettered: readonly number[]
  /** Whether the lease has no unsettled slot left or no longer exists. It can then be forgotten. */
  readonly finished: boolean
  /** Whether the database has no such lease. */
  readonly unknown?: boolean
}

/** Selection of live leases. */
export type ClaimsQuery = {
  /** Leases of this subscription only. */
  readonly subscriptionId?: number
  /** Leases of this consumer only. */
  readonly consumer?: string
  /** Last lease of the previous page. */
  readonly after?: Pick<ClaimRecord, 'place' | 'token'>
  /** Maximum number of leases. */
  readonly limit: number
  /** Maximum number of messages to list per lease. */
  readonly named: number
}

/** A live lease. */
export type ClaimRecord = {
  /** Token of the lease. */
  readonly token: string
  /** Name of the group. */
  readonly group: string
  /** Name of the consumer. */
  readonly consumer: string
  /** Number of slots. */
  readonly size: number
  /** Time of the claim. */
  readonly claimedAt: number
  /** Time at which the lease expires, or null if it never does. */
  readonly deadline: number | null
  /** Time of the claim, as precise as the store has it, to continue a list from. */
  readonly place: string
  /** Number of unsettled messages. */
  readonly unsettled: number
  /** Lowest id of an unsettled message, or null. */
  readonly firstId: number | null
  /** Highest id of an unsettled message, or null. */
  readonly lastId: number | null
  /** The first unsettled messages. */
  readonly messages: readonly (TakenMessage & { readonly attempt: number })[]
}

/** A lease that `release` ended. */
export type ReleasedClaimRecord = TakeOver & {
  /** Name of the group. */
  readonly group: string
  /** Number of messages that had no attempts left and were dead-lettered. */
  readonly deadLettered: number
}

/** Selection of retries. */
export type RetryQuery = {
  /** Id after which the page begins. */
  readonly after: number
  /** Maximum number of retries. */
  readonly limit: number
} & Pick<ByteBounds, 'maxBytes'>

/** A message that waits for redelivery. */
export type RetryRecord = {
  /** Id of the message. */
  readonly id: number
  /** Salt of the message, or null if it is no longer in the log. */
  readonly salt: number | null
  /** Stored messageId, or null if the publisher gave none. */
  readonly messageId: string | null
  /** Key of the message, or null. */
  readonly key: string | null
  /** Type of the payload; null: JSON. */
  readonly type: string | null
  /** Time of the publish, or null if the message is no longer in the log. */
  readonly createdAt: number | null
  /** Number of attempts so far. */
  readonly attempts: number
  /** Time at which it is due. */
  readonly dueAt: number
  /** Whether it is a suspect. */
  readonly suspect: boolean
  /** Failed attempts, the oldest first. */
  readonly history: readonly FailedAttempt[]
}
