import type { Percentiles } from '../metrics/histogram.ts'
import type { ClaimConflicts } from '../metrics/scope.ts'
import type { Semantics } from '../topic-config.ts'
import type { BackfillRecord } from './backfills.ts'
import type { JobRecord } from './jobs.ts'
import type { HeartbeatSettings, SubscriptionStatus } from './subscription-record.ts'
import type { TopicRecord } from './topic-record.ts'

/** What operators, health checks and metrics read. All of it is cheap: no count over a log. */
export type Inspection = {
  describe(topic: TopicRecord): Promise<TopicDescription>
  facts(topic: TopicRecord): Promise<TopicFacts>
  /** All groups of all topics, and the jobs, in one read; retries and dead letters are counted up to `most` a group. */
  stats(most: number): Promise<StatsRecord>
  /** Topics of pub-sub semantics that keep messages and have no live group. */
  unsubscribedTopics(): Promise<UnsubscribedTopic[]>
  /** Size of the namespace on the disk. No message is read. */
  size(): Promise<StoredSize>
  /** How far this process's clock is from the one that the database uses; null where that is a server's own. */
  clock(): Promise<ClockReading | null>
  /** Transactions that keep the snapshot horizon, and with it watermarks and clean-up, from moving on. Oldest first. */
  horizonHolders(): Promise<HorizonHolder[]>
  /** Connections in use and waited for, now. */
  poolUse(): PoolUse
}

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
  /** How many more messages there are partitions for, and how many one takes; null where the engine has none. */
  readonly partitions: { readonly room: number; readonly rows: number } | null
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

export type StoredSize = {
  /** SQLite: the file and its log. PostgreSQL: tables, indexes and large values of the schema. */
  readonly bytes: number
  /** Of those, what new messages take before the file grows (SQLite); 0 where the server does not tell. */
  readonly reusableBytes: number
}

export type HorizonHolder = {
  readonly pid: number
  readonly ageMs: number
  readonly state: string
  readonly application: string
  readonly query: string
}

export type UnsubscribedTopic = { readonly topic: string; readonly messages: number; readonly oldestAt: number }

export type PoolUse = { readonly size: number; readonly busy: number; readonly waiting: number }
