import type { GroupVitals, Vitals } from '../consume/vitals.ts'
import type { Percentiles } from '../metrics/histogram.ts'
import type { ClaimConflicts } from '../metrics/scope.ts'
import type { FailureRecord } from '../stores/failure-record.ts'
import type { GroupDescription, TopicDescription } from '../stores/inspection.ts'
import type { SubscriptionStatus } from '../stores/subscription-record.ts'
import type { Semantics } from '../topic-config.ts'
import { type BackfillProgress, toProgress } from './backfill-progress.ts'

/** How a group is doing. Times are by the database's clock. */
export type GroupHealth = {
  readonly topic: string
  /** '' in a queue. */
  readonly group: string
  readonly status: SubscriptionStatus
  /** Live, heard of in time, with no heartbeat missed, and its claims succeed as far as this process knows. */
  readonly healthy: boolean
  /** Silent for so long that it is about to be counted as missing. */
  readonly nearTimeout: boolean
  readonly epoch: number
  readonly createdAt: Date
  readonly lastHeartbeatAt: Date
  readonly sinceHeartbeatMs: number
  readonly heartbeatTimeoutMs: number
  readonly misses: number
  /**
   * Not yet claimed for the first time, what a backfill has yet to bring included. Exact up to 1000; above, PostgreSQL and
   * a backfill tell by ids. On PostgreSQL groups share 10 000: with 500 of them behind, a lag is exact up to 20.
   */
  readonly lagMessages: number
  /** The age of the oldest of them. */
  readonly lagMs: number
  readonly inFlight: number
  readonly retries: number
  readonly deadLetters: number
  /** As the heartbeats have told so far. */
  readonly processed: number
  readonly failed: number
  readonly filtered: number
  readonly ratePerSecond: number
  /** Consumers of all processes; `consumers()` lists them. */
  readonly consumers: number
  /** Milliseconds that its handlers took, in the processes that run now. */
  readonly handler: Percentiles
  readonly claimConflicts: ClaimConflicts
  readonly movedAt: Date
  /** Messages that the group will never get: a cap, a forced advance or a bounded resurrection, or cleaned up while it was dead. */
  readonly lost: number
  readonly lostAt: Date | null
  /** How many of them nobody has acknowledged yet. */
  readonly unacknowledgedLoss: number
  readonly backfill: BackfillProgress | null
  /** When a claim of this process was last answered; null where it does not consume for the group. */
  readonly lastClaimAt: Date | null
  /** Since when claims of this process fail; null where they don't. */
  readonly failingSince: Date | null
  readonly lastError: FailureRecord | null
}

const NEAR_TIMEOUT = 0.8

/** What is asked of the topic. */
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
  // A queue has no heartbeats to miss, and who is paused need not be heard of.
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

/** All groups of a topic, with what this process knows of them. */
export function groupsHealth(
  vitals: Vitals,
  topic: TopicOf,
  { groups, now }: Pick<TopicDescription, 'groups' | 'now'>,
  nearTimeoutAt?: number,
): GroupHealth[] {
  const known = new Map([...vitals.all().values()].map(each => [`${each.topic}/${each.group}`, each]))
  return groups.map(group => toHealth(topic, group, now, known.get(`${topic.name}/${group.group}`), nearTimeoutAt))
}
