import type { NamespaceGoneError } from '../errors.ts'
import type { Percentiles } from '../metrics/histogram.ts'
import type { ClaimConflicts } from '../metrics/scope.ts'
import type { RawMessage } from '../raw-message.ts'
import type { TopicConfig } from '../topic-config.ts'
import type { ByteBounds } from './byte-bounds.ts'
import type { Capabilities } from './capabilities.ts'
import type {
  BackfillRecord,
  FanOutStore,
  HeartbeatSettings,
  Resurrected,
  SubscriptionSettings,
} from './fan-out-store.ts'

/**
 * What an engine must do. One conformance suite (`test/conformance/`) runs on every implementation, and a
 * model-based property test drives them with the same commands.
 *
 * A **lease** holds a page of messages for one consumer. Its slots are numbered from 0; every settlement names the
 * lease's token and the slots. A lease is in one of three states:
 *
 *     LIVE ──all slots settled──▶ DONE       (remembered for a while, so that settling again succeeds)
 *       └──taken over / closed──▶ EXPIRED    (unsettled slots became retry rows; settling those is stale)
 */
export type Store = FanOutStore & {
  readonly capabilities: Capabilities
  /** For people: the address without secrets. */
  readonly location: string

  topic(name: string): Promise<TopicRecord | undefined>
  /** As `topic`, for a publish inside the caller's transaction; `create`: made with defaults where there is none. */
  topicIn(tx: unknown, name: string, create: boolean): Promise<TopicRecord | undefined>
  /** Creates the topic with defaults for what is not given, or changes the given settings of an existing one. */
  configureTopic(name: string, given: Partial<TopicConfig>): Promise<TopicRecord>
  describeTopic(topic: TopicRecord): Promise<TopicDescription>

  /** Stores all or nothing, durably, before it resolves. Given `tx`, inside the caller's transaction instead. */
  publish(topic: TopicRecord, messages: readonly OutgoingMessage[], tx?: unknown): Promise<PublishedMessage[]>

  /**
   * The group's subscription, created at `from` (bounded by the plan's `maxMessages`) if it is new; one that exists goes on
   * at its cursor, a dead one is resurrected. In a reference topic a new group's live stream begins now, and a backfill
   * from `from` to now is begun.
   */
  subscribe(
    topic: TopicRecord,
    group: string,
    from: StartPosition,
    settings?: SubscriptionSettings,
  ): Promise<SubscriptionRecord>
  /** ACTIVE ⇄ PAUSED, any → CANCELLED; anything else is an InvalidTransitionError. */
  setStatus(topic: TopicRecord, subscription: SubscriptionRecord, status: SubscriptionStatus): Promise<void>

  claim(request: ClaimRequest): Promise<ClaimResult>
  /** Each settlement in turn, all in one transaction. Results in the same order. */
  settle(settlements: readonly Settlement[]): Promise<SettleResult[]>
  /** Moves the lease's deadline to now + ms; false where the lease is no longer live. */
  extend(token: string, ms: number): Promise<boolean>
  /** The slots of a lease that is remembered, whatever its state; undefined where there is none. */
  leaseSize(token: string): Promise<number | undefined>
  /** The namespace's secret for receipts: the same in every process, and in a copy of the namespace. */
  receiptKey(): Promise<Uint8Array>

  deadLetters(topic: TopicRecord, query: DeadLetterQuery): Promise<DeadLetter[]>

  /** Calls back with a topic's id (null: any) when another process may have published. Only a hint. */
  watch(wake: (topicId: number | null) => void): void
  /** Tells the other processes' watchers that the topic may have something new. Never fails. */
  hint(topicId: number): void
  /** A group of this process reads the topic no longer. `shared`: others still read its rows together. */
  forgetReader(topicId: number, subscriptionId: number, shared: boolean): void
  /** Connections in use and waited for, now. */
  poolUse(): PoolUse
  /**
   * Calls back once, when the namespace turns out to be gone: dropped, made anew, or its file removed or replaced. From
   * then on every call rejects with that NamespaceGoneError, and nothing is read or written.
   */
  onGone(tell: (error: NamespaceGoneError) => void): void
  /** Removes every topic and message of the namespace. The store can't be used afterwards. */
  dropNamespace(): Promise<void>
  /** What still runs after this many milliseconds is cut off, where the engine can. */
  close(withinMs?: number): Promise<void>
}

export type TopicRecord = {
  readonly id: number
  readonly name: string
  /** 52 random bits: the topic's incarnation. Some of them are in every derived messageId. */
  readonly uid: number
  readonly config: TopicConfig
  /** Grows with every change of the configuration. */
  readonly configVersion: number
}

export type OutgoingMessage = {
  /** Text: JSON. Bytes: anything else, told apart by `type`. */
  readonly payload: string | Uint8Array
  /** null: JSON; 'bytes'; or a protobuf type URL. */
  readonly type: string | null
  readonly key: string | null
  /** JSON of the headers, null where there are none. */
  readonly headers: string | null
  /** Given by the caller: stored once within the topic's dedupe window. */
  readonly messageId: string | null
}

/** `duplicate`: the caller's messageId was stored before, under this id. */
export type PublishedMessage = { readonly id: number; readonly salt: number; readonly duplicate: boolean }

export type StartPosition = 'now' | 'beginning' | { readonly timestamp: number } | { readonly messageId: string }

export type SubscriptionStatus = 'ACTIVE' | 'PAUSED' | 'DEAD' | 'CANCELLED'

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

/** What a verb was given, and expects to find: records of another incarnation are refused, and nothing is changed. */
export type Expected = { readonly topic?: TopicRecord; readonly subscription?: SubscriptionRef }

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

export type FailureRecord = { readonly name: string; readonly message: string }

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

export type DeadLetterQuery = { readonly group?: string; readonly after?: number; readonly limit: number } & ByteBounds

export type DeadLetter = {
  readonly id: number
  readonly group: string
  readonly message: RawMessage
  readonly attempts: number
  readonly error: FailureRecord
  /** Every failed attempt, oldest first. */
  readonly history: readonly FailedAttempt[]
  readonly deadAt: number
}

export type FailedAttempt = FailureRecord & { readonly attempt: number; readonly at: number }

export type TopicDescription = {
  /** Exact on SQLite; on PostgreSQL the ids drawn so far, those of duplicates and rolled-back transactions included. */
  readonly messagesPublished: number
  /** The database's clock, to measure heartbeats and lags by. */
  readonly now: number
  readonly groups: readonly GroupDescription[]
}

export type GroupDescription = {
  readonly group: string
  readonly status: SubscriptionStatus
  /** The id up to which this group has settled everything it was sent. It never goes back. */
  readonly watermark: bigint
  /** Messages not yet claimed for the first time, those that a backfill has yet to bring included. */
  readonly backlog: number
  /** When the oldest message not yet claimed was created; null where there is none. */
  readonly oldestWaitingAt: number | null
  readonly inFlight: number
  readonly retries: number
  readonly deadLetters: number
  readonly epoch: number
  readonly heartbeat: HeartbeatSettings & { readonly lastAt: number; readonly misses: number }
  readonly createdAt: number
  readonly movedAt: number
  /** As the consumers' heartbeats have told so far. */
  readonly processed: number
  readonly failed: number
  readonly filtered: number
  /** Messages a second over about a minute. */
  readonly rate: number
  /** Consumers of all processes that were heard of within the heartbeat timeout. */
  readonly consumers: number
  /** Milliseconds that handlers took, in the processes that run now. */
  readonly handler: Percentiles
  readonly claimConflicts: ClaimConflicts
  /** Taken from the group by a forced cap, a forced advance or a bounded resurrection, or cleaned up while it was dead. */
  readonly lost: number
  readonly lostAt: number | null
  /** How much of it an operator has taken note of. */
  readonly lostAcknowledged: number
  readonly backfill: BackfillRecord | null
}

export type PoolUse = { readonly size: number; readonly busy: number; readonly waiting: number }
