import type { Percentiles } from '../observe/metrics/histogram.ts'
import type { ClaimConflicts } from '../observe/metrics/scope.ts'
import type { TopicConfig } from '../topic-config.ts'
import type { BackfillRecord } from './backfills.ts'
import type { JobRecord } from './jobs.ts'
import type { LanesQuery, LanesRecord } from './lanes.ts'
import type { MessageStateRecord } from './message-states.ts'
import type { HeartbeatSettings, SubscriptionStatus } from './subscription-record.ts'
import type { TopicRecord } from './topic-record.ts'

/** What operators, health checks and metrics read. All of it is cheap: nothing counts a whole log. */
export type Inspection = {
  /** Describes a topic with its groups. */
  describe(topic: TopicRecord): Promise<TopicDescription>
  /** Shows a part of a log and the positions of the groups in it. */
  lanes(topic: TopicRecord, query: LanesQuery): Promise<LanesRecord>
  /** Where a message stands in each group. */
  messageStates(topic: TopicRecord, id: number): Promise<MessageStateRecord[]>
  /**
   * All groups of all topics, and the jobs, from one read. Retries and dead letters are counted up to `most` per group.
   * Without `withStorage` no log is read for the topic itself, so the cost does not depend on the size and number of
   * the logs.
   */
  stats(most: number, withStorage: boolean): Promise<StatsRecord>
  /** Everything that a health check looks at, of all topics, from one read; `most` as in `stats`. */
  examine(most: number): Promise<Examination>
  /** Lists pub-sub topics that have messages and no live group. */
  unsubscribedTopics(): Promise<UnsubscribedTopic[]>
  /** Size of the namespace on the disk. No message is read. */
  size(): Promise<StoredSize>
  /** Offset of this process's clock from the database's clock; null if that is the clock of a server. */
  clock(): Promise<ClockReading | null>
  /** Connections in use, and calls that wait for one. */
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
  /** Id up to which the group has claimed, whether or not it has settled all of that. A backfill has its own cursor. */
  readonly cursor: bigint
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

/** What a health check looks at. */
export type Examination = {
  /** Figures of all topics, with their storage. */
  readonly stats: StatsRecord
  /** What else is looked at in each topic, in the same order. */
  readonly facts: readonly TopicFacts[]
  /** Live groups that have messages waiting and make no progress. */
  readonly zombies: readonly ZombieGroup[]
  /** Pub-sub topics that have messages and no live group. */
  readonly unsubscribed: readonly UnsubscribedTopic[]
  /** Transactions that hold back watermarks and clean-up, the oldest first. */
  readonly horizonHolders: readonly HorizonHolder[]
}

/** What a health check looks at in a topic, beside its figures. */
export type TopicFacts = {
  /** Name of the topic. */
  readonly topic: string
  /** Time at which the topic was created. */
  readonly createdAt: number
  /** Time of the oldest message that a live group has claimed or retries, and has not settled, or null. */
  readonly heldAt: number | null
  /** Violated invariants, one sentence each. Must always be empty. */
  readonly inconsistencies: readonly string[]
  /**
   * Number of messages that fit into the existing partitions (`room`) and into one (`rows`); null if the engine has
   * none.
   */
  readonly partitions: { readonly room: number; readonly rows: number } | null
}

/** A group that does not move, by name. */
export type ZombieGroup = {
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group; empty for a queue. */
  readonly group: string
  /** Time of its last progress. */
  readonly movedAt: number
  /** Number of waiting messages. */
  readonly waiting: number
}

/** Comparison of two clocks. */
export type ClockReading = {
  /** Current time of the database's clock. */
  readonly now: number
  /** Milliseconds by which this process's clock is ahead; negative if it is behind. */
  readonly offsetMs: number
  /** Whether one of the two clocks must be wrong. Nothing is removed for its age then. */
  readonly isOff: boolean
  /**
   * Milliseconds for which the database's clock is not trusted yet after a restart of the machine. Nothing is removed
   * for its age then.
   */
  readonly trialMs: number
}

/** Figures of all topics. */
export type StatsRecord = {
  /** Current time of the database's clock. */
  readonly now: number
  /** Figures of each topic. */
  readonly topics: readonly TopicStatsRecord[]
  /** The maintenance jobs. */
  readonly jobs: readonly JobRecord[]
}

/** Figures of a topic. */
export type TopicStatsRecord = {
  /** Name of the topic. */
  readonly topic: string
  /** Configuration of the topic. */
  readonly config: TopicConfig
  /** Number of published messages. */
  readonly messagesPublished: number
  /** Id of the oldest retained message; on PostgreSQL the lowest it can have. Null if none is retained. */
  readonly firstId: number | null
  /** Id of the newest message; 0 before the first. */
  readonly lastId: number
  /** Number of retained messages: exact on SQLite, computed from ids on PostgreSQL. */
  readonly retained: number
  /** Figures that require reading the log or its files; null if they were not requested. */
  readonly storage: TopicStorage | null
  /** Figures of each group. */
  readonly groups: readonly GroupDescription[]
}

/** Storage used by a log. */
export type TopicStorage = {
  /** Number of messages that can be removed. */
  readonly removable: number
  /** Bytes on the disk: estimated from a few messages on SQLite, sizes of tables and indexes on PostgreSQL. */
  readonly bytes: number
  /** Time of the oldest retained message, or null. */
  readonly oldestAt: number | null
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
