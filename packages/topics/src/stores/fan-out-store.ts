import type { SparseHistogram } from '../metrics/histogram.ts'
import type { RawMessage } from '../raw-message.ts'
import type { Semantics, Tracking } from '../topic-config.ts'
import type { ByteBounds } from './byte-bounds.ts'
import type {
  DeadLetter,
  FailedAttempt,
  GroupDescription,
  StartPosition,
  SubscriptionRecord,
  SubscriptionRef,
  SubscriptionStatus,
  TakenMessage,
  TakeOver,
  TopicRecord,
} from './store.ts'

/**
 * What an engine must do for groups that come, go, die and come back, and for messages that are no longer needed. All
 * times are the database's.
 *
 *     ACTIVE ⇄ PAUSED        ACTIVE ──heartbeats missed──▶ DEAD ──heartbeat, subscribe or admin──▶ ACTIVE
 *     any ──▶ CANCELLED ──retention──▶ removed
 *
 * Every activation is a new epoch: work done for one (dead clean-up, backfill) is done once.
 */
export type FanOutStore = LifeCycleStore & CleanUpStore & ReferenceStore & AdminStore

// ── life cycle ────────────────────────────────────────────────────────────────────────────────────────────────────

export type LifeCycleStore = {
  subscription(topic: TopicRecord, group: string): Promise<SubscriptionRecord | undefined>
  /** One statement for all groups of the process, on a connection of its own where the engine has connections. */
  heartbeat(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]>
  /** Of all processes, by group, instance and name; those not heard of for a heartbeat timeout are left out. */
  consumers(topic: TopicRecord): Promise<ConsumerRecord[]>
  /** DEAD → ACTIVE, else InvalidTransitionError. `continue`: where it stopped, bounded by `limit`; `skip`: at the present. */
  resurrect(topic: TopicRecord, subscription: SubscriptionRecord, mode: Resurrection): Promise<Resurrected>
  /** Counts misses and marks dead what has too many. Any number of processes may run it at once. */
  detectDead(): Promise<Detection>
  /** Topics of pub-sub semantics that keep messages and have no live group. */
  unsubscribedTopics(): Promise<UnsubscribedTopic[]>
  /** CANCELLED and DEAD since before; of reference topics only those whose bits are cleared. */
  endedSubscriptions(olderThanMs: number): Promise<SubscriptionOfTopic[]>
  /** What the group has lost so far is taken note of. Returns how much of it was not before. */
  acknowledgeLoss(topic: TopicRecord, subscription: SubscriptionRecord): Promise<number>
  /** Deletes a CANCELLED or DEAD subscription with its leases and retries; its dead letters stay. */
  removeSubscription(topic: TopicRecord, subscription: SubscriptionRecord): Promise<void>
  /** True where this process may run the job now: nobody holds it and, given `everyMs`, its last start is that long ago. */
  lockJob(name: string, lock: JobLock): Promise<boolean>
  /** Keeps the lock; false where it was lost. */
  renewJob(name: string, lock: JobLock): Promise<boolean>
  unlockJob(name: string, token: string, result: unknown): Promise<void>
  jobs(): Promise<JobRecord[]>
}

export type HeartbeatSettings = {
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Dead after this many timeouts without a heartbeat. */
  readonly deadAfterMisses: number
}

export const DEFAULT_HEARTBEAT: HeartbeatSettings = { intervalMs: 60_000, timeoutMs: 300_000, deadAfterMisses: 3 }

/** What `subscribe` takes beside the position. Of a subscription that exists, only what is given is changed. */
export type SubscriptionSettings = {
  readonly heartbeat?: Partial<HeartbeatSettings>
  /** What of `heartbeat` is not given, for one that is new. */
  readonly heartbeatDefaults?: HeartbeatSettings
  /** What a new group is brought of what was published before; false: nothing. A queue gives all it holds. */
  readonly backfill?: BackfillPlan | false
  /** Messages a resurrection may bring back, where the caller said so; null: all. */
  readonly backfillLimit?: number | null
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

export type Resurrection = {
  readonly mode: 'continue' | 'skip'
  readonly limit: number | null
  readonly plan: BackfillPlan
}
export type Resurrected = {
  readonly epoch: number
  /** Messages that a bound, or `skip`, made it pass over. */
  readonly skipped: number
  /** Messages that were cleaned up while it was dead. */
  readonly lost: number
  /** What it missed is being brought. */
  readonly backfill: boolean
}

export type SubscriptionOfTopic = { readonly topic: TopicRecord; readonly subscription: SubscriptionRecord }
export type Detection = {
  readonly missed: readonly (SubscriptionOfTopic & { readonly misses: number; readonly of: number })[]
  readonly dead: readonly (SubscriptionOfTopic & { readonly silentMs: number })[]
}
export type UnsubscribedTopic = { readonly topic: string; readonly messages: number; readonly oldestAt: number }

export type JobLock = { readonly token: string; readonly ttlMs: number; readonly everyMs?: number }
export type JobRecord = {
  readonly name: string
  readonly running: boolean
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly runs: number
  readonly result: unknown
  /** When it last ended without an error, of its own or of one of the topics. */
  readonly succeededAt: number | null
  /** How long its last run took. */
  readonly tookMs: number | null
}

// ── clean-up ──────────────────────────────────────────────────────────────────────────────────────────────────────

export type CleanUpStore = {
  topics(): Promise<TopicRecord[]>
  /**
   * One short step of removing what the topic no longer needs: a batch of rows, or one partition's next stage. To be
   * repeated while `more`.
   */
  cleanUp(topic: TopicRecord, batchSize: number): Promise<CleanUpStep>
  /** Live groups with messages waiting that have not moved for their topic's zombieTtl. */
  zombies(): Promise<Zombie[]>
  /** The cursor to the present; what was waiting is lost to the group, and counted so. Returns how many. */
  forceAdvance(topic: TopicRecord, subscription: SubscriptionRecord): Promise<number>
}

export type CleanUpStep = {
  readonly removed: number
  readonly partitionsDropped: number
  /** Taken from live groups by the forced cap. What a dead one loses it is told when it comes back. */
  readonly lost: readonly { readonly group: string; readonly count: number }[]
  readonly more: boolean
}

export type Zombie = SubscriptionOfTopic & { readonly movedAt: number; readonly waiting: number }

// ── reference tracking and backfill ───────────────────────────────────────────────────────────────────────────────

export type ReferenceStore = {
  /** Switches while groups run. Filling the bitmaps of what is kept is `fillTracking`'s. */
  setTracking(topic: TopicRecord, tracking: Tracking): Promise<TopicRecord>
  /** One page; false when nothing is left to fill, or (on PostgreSQL) older transactions are still to be waited for. */
  fillTracking(topic: TopicRecord, limit: number): Promise<boolean>
  /**
   * One page of clearing the bits of dead and cancelled groups, or of wiping those of removed ones. Where a topic has few
   * bits left, groups that have ended give up theirs.
   */
  clearBits(limit: number): Promise<{ readonly cleared: number; readonly more: boolean }>
  completion(topic: TopicRecord, query: CompletionQuery): Promise<MessageCompletion[]>
  /** Messages older than this that wait only for groups that are not live: they wait no longer. Returns how many. */
  completeOrphans(topic: TopicRecord, olderThanMs: number): Promise<number>

  startBackfill(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    from: StartPosition,
    plan: BackfillPlan,
  ): Promise<BackfillRecord>
  /** Takes a RUNNING backfill that nobody runs (of this subscription, or any); null where there is none. */
  takeBackfill(token: string, ttlMs: number, subscription?: SubscriptionRef): Promise<BackfillRecord | null>
  /** One batch and its checkpoint, in one transaction, and the lease renewed. `lost`: another has taken it over. */
  backfillBatch(subscriptionId: number, batch: BackfillBatch): Promise<BackfillRecord | 'lost'>
  /** RUNNING → CANCELLED | FAILED; CANCELLED | FAILED → RUNNING; else BackfillError. */
  setBackfillStatus(
    topic: TopicRecord,
    subscription: SubscriptionRef,
    status: 'RUNNING' | 'CANCELLED' | 'FAILED',
    error?: string,
  ): Promise<BackfillRecord>
  backfill(subscription: SubscriptionRef): Promise<BackfillRecord | undefined>
  /** What a publish does, without its message: a small durable write on the live path, to be timed. */
  probe(): Promise<void>
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

export type CompletionQuery = {
  readonly after: number
  readonly limit: number
  readonly unfinished: boolean
  readonly id?: number
}
export type MessageCompletion = {
  readonly id: number
  readonly salt: number
  /** The log's messageId where the caller gave one. */
  readonly messageId: string | null
  readonly required: readonly string[]
  readonly completed: readonly string[]
}

// ── admin ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export type AdminStore = {
  /** With its log, groups, leases and dead letters. */
  deleteTopic(topic: TopicRecord): Promise<void>
  /** Leases are closed, retries dropped. A position that was cleaned up is a PositionGoneError. */
  resetCursor(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    to: StartPosition,
    plan: BackfillPlan,
  ): Promise<void>
  /** The id of a message that is kept. */
  find(topic: TopicRecord, messageId: string): Promise<number | undefined>
  browse(topic: TopicRecord, query: BrowseQuery): Promise<BrowsePage>
  /** New messages after a place that an earlier page gave, each once, in whatever order they commit; null: from now on. */
  tail(topic: TopicRecord, place: string | null, limit: number, bounds?: ByteBounds): Promise<TailPage>
  /** Live leases, the oldest first. */
  claims(topic: TopicRecord, query: ClaimsQuery): Promise<ClaimRecord[]>
  /** Ends a live lease as if it had run out now; undefined where the topic has no such one. */
  releaseClaim(topic: TopicRecord, token: string): Promise<ReleasedClaim | undefined>
  /** What waits to be delivered to the group again, by message id. */
  retries(topic: TopicRecord, subscription: SubscriptionRecord, query: RetryQuery): Promise<RetryRecord[]>
  deadLetter(topic: TopicRecord, id: number, bounds?: ByteBounds): Promise<DeadLetter | undefined>
  /** Back into delivery, with attempts from 0, up to `limit` of those that can be; the others stay as they are. */
  redrive(topic: TopicRecord, selection: DeadLetterSelection): Promise<RedrivenPage>
  /** Those that can't be. */
  undeliverable(topic: TopicRecord, selection: DeadLetterSelection): Promise<Undeliverable>
  discard(topic: TopicRecord, selection: DeadLetterSelection): Promise<number>
  facts(topic: TopicRecord): Promise<TopicFacts>
  /** How far this process's clock is from the one that the database uses; null where that is a server's own. */
  clock(): Promise<ClockReading | null>
  /** All groups of all topics, and the jobs, in one look; retries and dead letters are counted up to `most` a group. */
  stats(most: number): Promise<StatsRecord>
  /** What the namespace takes on the disk. Cheap: no message is looked at. */
  size(): Promise<StoredSize>
  /** Transactions that keep the snapshot horizon, and with it watermarks and clean-up, from moving on. Oldest first. */
  horizonHolders(): Promise<HorizonHolder[]>
}

export type StoredSize = {
  /** SQLite: the file and its log. PostgreSQL: tables, indexes and large values of the schema. */
  readonly bytes: number
  /** Of those, what new messages take before the file grows (SQLite); 0 where the server does not tell. */
  readonly reusableBytes: number
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

export type BrowseQuery = {
  readonly after?: number
  readonly before?: number
  readonly since?: number
  readonly until?: number
  readonly key?: string
  /** null: JSON. */
  readonly type?: string | null
  readonly newestFirst: boolean
  readonly limit: number
} & ByteBounds

export type BrowsePage = {
  readonly messages: readonly RawMessage[]
  /** Where the next page goes on (`after`, or `before` where the newest come first); null: there is no more. */
  readonly next: number | null
}

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

export type TailPage = { readonly messages: readonly RawMessage[]; readonly place: string }

export type RedrivenPage = {
  readonly redriven: number
  /** Where the next page goes on; null: there is no more. */
  readonly last: number | null
}

export type Redriven = Undeliverable & { readonly redriven: number }

export type Undeliverable = {
  /** Matching dead letters whose message the log no longer has. */
  readonly gone: number
  /** Matching dead letters whose group is not live. */
  readonly orphaned: number
}

export type DeadLetterSelection = {
  readonly ids?: readonly number[]
  readonly group?: string
  readonly errorName?: string
  readonly key?: string
  readonly type?: string | null
  readonly since?: number
  readonly until?: number
  /** Those with a higher id. */
  readonly after?: number
  readonly limit: number
}

/** For health, cheap to read: no count over the log. */
export type TopicFacts = {
  /** When the topic was made. */
  readonly createdAt: number
  readonly oldestAt: number | null
  readonly newestAt: number | null
  /** Messages kept: exact on SQLite, by ids on PostgreSQL. */
  readonly retained: number
  /** The oldest message that a live group has not processed. */
  readonly oldestUnprocessedAt: number | null
  /** Messages that could be removed already; on PostgreSQL those of whole partitions, by ids where they are not sealed yet. */
  readonly removable: number
  /** What must never be: each a sentence. */
  readonly inconsistencies: readonly string[]
}

export type ClockReading = {
  /** By the database's clock. */
  readonly now: number
  /** This process's wall clock is ahead by this much, or behind where it is negative. */
  readonly offsetMs: number
  /** So far that one of the two is wrong: nothing is removed for its age. */
  readonly isOff: boolean
  /** How long the database's clock is still on trial after a start of the machine: nothing is removed for its age. */
  readonly trialMs: number
}

export type StatsRecord = {
  readonly now: number
  readonly topics: readonly TopicStats[]
  readonly jobs: readonly JobRecord[]
}
export type TopicStats = {
  readonly topic: string
  readonly semantics: Semantics
  readonly messagesPublished: number
  readonly removable: number
  readonly groups: readonly GroupDescription[]
}

export type HorizonHolder = {
  readonly pid: number
  readonly ageMs: number
  readonly state: string
  readonly application: string
  readonly query: string
}
