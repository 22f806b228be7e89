import type { GroupDescription, SubscriptionStatus, TopicRecord } from '../stores/store.ts'
import { type BackfillProgress, toProgress } from './backfill-progress.ts'

/** How a group is doing. Times are by the database's clock. */
export type GroupHealth = {
  readonly topic: string
  /** '' in a queue. */
  readonly group: string
  readonly status: SubscriptionStatus
  /** Live, heard of in time, and with no heartbeat missed. */
  readonly healthy: boolean
  /** Silent for so long that it is about to be counted as missing. */
  readonly nearTimeout: boolean
  readonly epoch: number
  readonly createdAt: Date
  readonly lastHeartbeatAt: Date
  readonly sinceHeartbeatMs: number
  readonly heartbeatTimeoutMs: number
  readonly misses: number
  /** Not yet claimed for the first time: exact on SQLite, and on PostgreSQL up to 1000. */
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
  readonly movedAt: Date
  /** Messages that a cap, a forced advance or a bounded resurrection took from the group. */
  readonly lost: number
  readonly lostAt: Date | null
  readonly backfill: BackfillProgress | null
}

const NEAR_TIMEOUT = 0.8

export function toHealth(
  topic: TopicRecord,
  group: GroupDescription,
  now: number,
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
    healthy: isLive && !nearTimeout && heartbeat.misses === 0,
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
    movedAt: new Date(group.movedAt),
    lost: group.lost,
    lostAt: group.lostAt === null ? null : new Date(group.lostAt),
    backfill: group.backfill && toProgress(group.backfill),
  }
}
