import type { Percentiles } from '../observe/metrics/histogram.ts'
import type { ClaimConflicts } from '../observe/metrics/scope.ts'
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

/** A topic with its groups. */
export type TopicDescription = {
  /**
   * Number of published messages. Exact on SQLite; on PostgreSQL the number of assigned ids, including duplicates and
   * rolled-back transactions.
   */
  readonly messagesPublished: number
  /** Current time of the database's clock. */
  readonly now: number
  /** Groups of the topic. */
  readonly groups: readonly GroupDescription[]
}

/** Position and counts of a group, as stored in the database. */
export type GroupDescription = {
  /** Name of the group; empty for a queue. */
  readonly group: string
  /** Status of the subscription. */
  readonly status: SubscriptionStatus
  /** Id up to which the group has settled everything. It never moves backward, except by a reset. */
  readonly watermark: bigint
  /** Messages not yet claimed, including those of a running backfill. */
  readonly backlog: number
  /** Time of the oldest message not yet claimed, or null. */
  readonly oldestWaitingAt: number | null
  /** Number of claimed, unsettled messages. */
  readonly inFlight: number
  /** Number of messages that wait for redelivery. */
  readonly retries: number
  /** Number of dead letters. */
  readonly deadLetters: number
  /** Number of the activation: grows with each resurrection. */
  readonly epoch: number
  /** Heartbeats of the group. */
  readonly heartbeat: HeartbeatSettings & { readonly lastAt: number; readonly misses: number }
  /** Time of the subscription. */
  readonly createdAt: number
  /** Time of the last progress. */
  readonly movedAt: number
  /** Processed messages, as of the last heartbeats. */
  readonly processed: number
  /** Failed attempts, as of the last heartbeats. */
  readonly failed: number
  /** Messages rejected by filters, as of the last heartbeats. */
  readonly filtered: number
  /** Messages per second over about a minute. */
  readonly rate: number
  /** Number of consumers in all processes with a heartbeat within the timeout. */
  readonly consumers: number
  /** Handler durations in milliseconds, in all running processes. */
  readonly handler: Percentiles
  /** Claims that had to wait for another claim of the same group. */
  readonly claimConflicts: ClaimConflicts
  /**
   * Number of messages that the group has lost: removed at their maximum age, skipped by a forced advance or a limited
   * resurrection, or cleaned up while it was dead.
   */
  readonly lost: number
  /** Time of the last loss, or null. */
  readonly lostAt: number | null
  /** Number of lost messages that an operator has acknowledged. */
  readonly lostAcknowledged: number
  /** The last backfill of the group, or null. */
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

/** Size of a namespace. */
export type StoredSize = {
  /** SQLite: the file and its log. PostgreSQL: tables, indexes and large values of the schema. */
  readonly bytes: number
  /** Free bytes inside the file that are reused before it grows (SQLite); 0 if unknown. */
  readonly reusableBytes: number
}

/** An open transaction that holds back clean-up (PostgreSQL). */
export type HorizonHolder = {
  /** Process id of the session on the server. */
  readonly pid: number
  /** Age of the transaction in milliseconds. */
  readonly ageMs: number
  /** State of the session, such as `idle in transaction`. */
  readonly state: string
  /** Application name of the session. */
  readonly application: string
  /** Last query of the session, without values. */
  readonly query: string
}

/** A pub-sub topic with messages and no subscription. */
export type UnsubscribedTopic = {
  /** Name of the topic. */
  readonly topic: string
  /** Number of messages. */
  readonly messages: number
  /** Time of the oldest message, in milliseconds since 1970. */
  readonly oldestAt: number
}

/** Use of the connection pool. */
export type PoolUse = {
  /** Number of connections. */
  readonly size: number
  /** Number of connections in use. */
  readonly busy: number
  /** Number of calls that wait for a connection. */
  readonly waiting: number
}
