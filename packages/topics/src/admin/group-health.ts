import type { GroupVitals, Vitals } from '../consume/vitals.ts'
import type { Percentiles } from '../observe/metrics/histogram.ts'
import type { ClaimConflicts } from '../observe/metrics/scope.ts'
import type { FailureRecord } from '../stores/failure-record.ts'
import type { GroupDescription, TopicDescription } from '../stores/inspection.ts'
import type { SubscriptionStatus } from '../stores/subscription-record.ts'
import type { Semantics } from '../topic-config.ts'
import { type BackfillProgress, toProgress } from './backfill-progress.ts'

/** Health, lag and counts of a group. Times are those of the database's clock. */
export type GroupHealth = {
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group; empty for a queue. */
  readonly group: string
  /** Status of the subscription. */
  readonly status: SubscriptionStatus
  /** Whether the group is live, its heartbeats are in time, and its claims in this process succeed. */
  readonly healthy: boolean
  /** Whether the last heartbeat is so old that the next miss is near. */
  readonly nearTimeout: boolean
  /** Number of the activation: grows with each resurrection. */
  readonly epoch: number
  /** Time of the subscription. */
  readonly createdAt: Date
  /** Time of the last heartbeat. */
  readonly lastHeartbeatAt: Date
  /** Time since the last heartbeat in milliseconds. */
  readonly sinceHeartbeatMs: number
  /** Heartbeat timeout in milliseconds. */
  readonly heartbeatTimeoutMs: number
  /** Number of missed heartbeats in a row. */
  readonly misses: number
  /** Id up to which the group has claimed messages. A backfill has a position of its own. */
  readonly cursor: number
  /** Id up to which the group has settled everything. */
  readonly watermark: number
  /**
   * Messages not yet claimed, including those of a running backfill. Exact up to 1000; above that it is estimated from
   * ids on PostgreSQL and for a backfill. On PostgreSQL all groups together are counted up to 10 000: with 500 groups
   * behind, a lag is exact up to 20.
   */
  readonly lagMessages: number
  /** Age of the oldest message not yet claimed, in milliseconds. */
  readonly lagMs: number
  /** Number of claimed, unsettled messages. */
  readonly inFlight: number
  /** Number of messages that wait for redelivery. */
  readonly retries: number
  /** Number of dead letters. */
  readonly deadLetters: number
  /** Processed messages, as of the last heartbeats. */
  readonly processed: number
  /** Failed attempts, as of the last heartbeats. */
  readonly failed: number
  /** Messages rejected by filters, as of the last heartbeats. */
  readonly filtered: number
  /** Processed messages per second. */
  readonly ratePerSecond: number
  /** Number of consumers in all processes. */
  readonly consumers: number
  /** Handler durations in milliseconds, in all running processes. */
  readonly handler: Percentiles
  /** Claims that had to wait for another claim of the same group. */
  readonly claimConflicts: ClaimConflicts
  /** Time of the last progress. */
  readonly movedAt: Date
  /**
   * Number of messages that the group has lost: removed at their maximum age, skipped by a forced advance or a limited
   * resurrection, or cleaned up while it was dead.
   */
  readonly lost: number
  /** Time of the last loss, or null. */
  readonly lostAt: Date | null
  /** Number of lost messages not yet acknowledged. */
  readonly unacknowledgedLoss: number
  /** Progress of the last backfill, or null. */
  readonly backfill: BackfillProgress | null
  /** Time of the last successful claim in this process; null if this process does not consume for the group. */
  readonly lastClaimAt: Date | null
  /** Time since which claims in this process fail; null if they succeed. */
  readonly failingSince: Date | null
  /** Error of the last failed claim in this process, or null. */
  readonly lastError: FailureRecord | null
}

const NEAR_TIMEOUT = 0.8

/** What is needed of the topic. */
type TopicOf = { readonly name: string; readonly config: { readonly semantics: Semantics } }

function toHealth(
  topic: TopicOf,
  group: GroupDescription,
  now: number,
  vitals?: GroupVitals,
  nearTimeoutAt = NEAR_TIMEOUT,
): GroupHealth {
  const { heartbeat, status } = group
  const sinceHeartbeatMs = Math.max(0, now - heartbeat.lastAt)
  // A queue has no heartbeats to miss, and a paused group need not send any.
  const beats = topic.config.semantics === 'pub-sub' && status === 'ACTIVE'
  const nearTimeout = beats && sinceHeartbeatMs >= nearTimeoutAt * heartbeat.timeoutMs
  const isLive = status === 'ACTIVE' || status === 'PAUSED'
  return {
    topic: topic.name,
    group: group.group,
    status,
    healthy: isLive && !nearTimeout && heartbeat.misses === 0 && (vitals?.failingSince ?? null) === null,
    nearTimeout,
    epoch: group.epoch,
    createdAt: new Date(group.createdAt),
    lastHeartbeatAt: new Date(heartbeat.lastAt),
    sinceHeartbeatMs,
    heartbeatTimeoutMs: heartbeat.timeoutMs,
    misses: heartbeat.misses,
    cursor: Number(group.cursor),
    watermark: settledUpTo(group),
    lagMessages: group.backlog,
    lagMs: group.oldestWaitingAt === null ? 0 : Math.max(0, now - group.oldestWaitingAt),
    inFlight: group.inFlight,
    retries: group.retries,
    deadLetters: group.deadLetters,
    processed: group.processed,
    failed: group.failed,
    filtered: group.filtered,
    ratePerSecond: group.rate,
    consumers: group.consumers,
    handler: group.handler,
    claimConflicts: group.claimConflicts,
    movedAt: new Date(group.movedAt),
    lost: group.lost,
    lostAt: group.lostAt === null ? null : new Date(group.lostAt),
    unacknowledgedLoss: group.lost - group.lostAcknowledged,
    backfill: group.backfill && toProgress(group.backfill),
    lastClaimAt: vitals?.lastClaimAt ?? null,
    failingSince: vitals?.failingSince ?? null,
    lastError: vitals?.lastError ?? null,
  }
}

/** The watermark of a group without work may not have been moved on yet. */
function settledUpTo({ cursor, watermark, backlog, inFlight, retries }: GroupDescription): number {
  return Number(backlog + inFlight + retries === 0 || watermark > cursor ? cursor : watermark)
}

/** All groups of a topic, with what this process knows about them. */
export function groupsHealth(
  vitals: Vitals,
  topic: TopicOf,
  { groups, now }: Pick<TopicDescription, 'groups' | 'now'>,
  nearTimeoutAt?: number,
): GroupHealth[] {
  return groups.map(group => toHealth(topic, group, now, vitals.of(topic.name, group.group), nearTimeoutAt))
}
