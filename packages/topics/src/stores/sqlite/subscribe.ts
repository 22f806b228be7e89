import { InvalidTransitionError, SubscriptionGoneError, TopicConflictError, TopicNotFoundError } from '../../errors.ts'
import { startOf } from '../start.ts'
import { DEFAULT_HEARTBEAT, type StartPosition, type SubscriptionRecord } from '../subscription-record.ts'
import type { SubscriptionSettings } from '../subscriptions.ts'
import type { TopicRecord } from '../topic-record.ts'
import { beginBackfill } from './begin-backfill.ts'
import { takeBit } from './bits.ts'
import { cursorAt, newestAfter } from './positions.ts'
import { recordBeat } from './record-beat.ts'
import { resurrect } from './resurrect.ts'
import { rowOf } from './rows.ts'
import { findSubscription } from './subscription-rows.ts'
import type { Transaction } from './transaction.ts'

export function subscribe(
  tx: Transaction,
  topic: TopicRecord,
  group: string,
  from: StartPosition,
  settings: SubscriptionSettings = {},
): SubscriptionRecord {
  const existing = findSubscription(tx, topic, group)
  if (existing?.status === 'CANCELLED') throw new InvalidTransitionError(topic.name, group, 'CANCELLED', 'ACTIVE')
  if (existing) return goOn(tx, topic, existing, settings)
  const { semantics, byReference } = kindOf(tx, topic)
  if (semantics !== topic.config.semantics) throw TopicConflictError.ofSemantics(topic.name)
  const now = tx.now()
  const heartbeat = { ...(settings.heartbeatDefaults ?? DEFAULT_HEARTBEAT), ...settings.heartbeat }
  const { start, plan } = startOf(topic, from, settings, byReference)
  const first = cursorAt(tx, topic, start)
  const cursor = byReference ? first : newestAfter(tx, topic, first, plan.maxMessages)
  tx.prepare(`
      insert into tidemark_subscription (
        topic_id, group_name, cursor, start_id, live_id, created_at, status_at, moved_at, last_heartbeat_at,
        heartbeat_interval_ms, heartbeat_timeout_ms, dead_after_misses, backfill_limit
      )
      values (?1, ?2, ?3, ?3, ?9, ?4, ?4, ?4, ?4, ?5, ?6, ?7, ?8)`).run(
    ...[topic.id, group, cursor, now],
    ...[heartbeat.intervalMs, heartbeat.timeoutMs, heartbeat.deadAfterMisses, settings.backfillLimit ?? null],
    cursorAt(tx, topic, 'now'),
  )
  const created = findSubscription(tx, topic, group)
  if (created === undefined) throw new SubscriptionGoneError(topic.name, group)
  if (byReference) takeBit(tx, { topic_id: topic.id, name: topic.name }, created.id)
  const skipped =
    byReference && start !== 'now'
      ? beginBackfill(tx, created.id, { lowerId: cursor, plan, again: false })
      : cursor - first
  return { ...created, created: true, skipped }
}

/** Restarts an existing group: it takes the given settings and counts as alive; a dead group is resurrected. */
function goOn(
  tx: Transaction,
  topic: TopicRecord,
  { id, group, status }: SubscriptionRecord,
  { heartbeat = {}, backfillLimit }: SubscriptionSettings,
): SubscriptionRecord {
  tx.prepare(`
      update tidemark_subscription
      set heartbeat_interval_ms = coalesce(?2, heartbeat_interval_ms),
        heartbeat_timeout_ms = coalesce(?3, heartbeat_timeout_ms),
        dead_after_misses = coalesce(?4, dead_after_misses),
        backfill_limit = case when ?5 then ?6 else backfill_limit end
      where id = ?1`).run(
    ...[id, heartbeat.intervalMs ?? null, heartbeat.timeoutMs ?? null, heartbeat.deadAfterMisses ?? null],
    ...[backfillLimit === undefined ? 0 : 1, backfillLimit ?? null],
  )
  const resurrected = status === 'DEAD' ? resurrect(tx, id) : null
  recordBeat(tx, { subscriptionId: id, processed: 0, failed: 0, filtered: 0 }, tx.now())
  const subscription = findSubscription(tx, topic, group)
  if (subscription === undefined) throw new SubscriptionGoneError(topic.name, group)
  return { ...subscription, resurrected }
}

/** The stored state, not the caller's: the topic may have been switched since. */
function kindOf(tx: Transaction, topic: TopicRecord): { semantics: string; byReference: boolean } {
  const row = rowOf<{ semantics: string; tracking: string }>(
    tx.prepare(`
      select config ->> '$.semantics' as semantics, config ->> '$.tracking' as tracking from tidemark_topic where id = ?`),
    topic.id,
  )
  if (row === undefined) throw new TopicNotFoundError(topic.name)
  return { semantics: row.semantics, byReference: row.tracking === 'reference' }
}
