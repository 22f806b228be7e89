import { BackfillError, InvalidTransitionError, SubscriptionGoneError } from '../../errors.ts'
import type { BackfillPlan, BackfillRecord, Backfills } from '../backfills.ts'
import type { StartPosition, SubscriptionRecord, SubscriptionRef, SubscriptionStatus } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { backfillBatch } from './backfill-batch.ts'
import { findBackfill, requiredBackfill } from './backfill-record.ts'
import { beginBackfill } from './begin-backfill.ts'
import type { Connection } from './connection.ts'
import { cursorAt } from './positions.ts'
import { rowOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

/** The backfills of one file. */
export function sqliteBackfills(connection: Connection): Backfills {
  return {
    start: (topic, subscription, from, plan) =>
      connection.writeUnlessHeld(tx => startBackfill(tx, topic, subscription, from, plan), { topic, subscription }),
    take: (token, ttlMs, subscription) =>
      connection.write(
        true,
        tx => takeBackfill(tx, token, ttlMs, subscription?.id),
        subscription ? { subscription } : {},
      ),
    runBatch: (subscriptionId, batch) => connection.write(true, tx => backfillBatch(tx, subscriptionId, batch)),
    setStatus: (topic, subscription, status, error) =>
      connection.write(true, tx => setBackfillStatus(tx, topic, subscription, status, error), { topic, subscription }),
    find: subscription => connection.read(tx => findBackfill(tx, subscription.id), { subscription }),
  }
}

function startBackfill(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  from: StartPosition,
  plan: BackfillPlan,
): BackfillRecord {
  const { group } = subscription
  const row = rowOf<{ status: SubscriptionStatus; bit: number | null; cursor: number; next_id: number }>(
    tx.prepare(`
      select s.status, s.bit, s.cursor, t.next_id
      from tidemark_subscription s
      join tidemark_topic t on t.id = s.topic_id
      where s.id = ?`),
    subscription.id,
  )
  if (row === undefined) throw new SubscriptionGoneError(topic.name, group)
  if (row.status === 'CANCELLED') throw new InvalidTransitionError(topic.name, group, 'CANCELLED', 'ACTIVE')
  if (row.status === 'DEAD') throw BackfillError.ofDeadGroup(topic.name, group)
  if (row.bit === null) throw BackfillError.ofOffsetTopic(topic.name, group)
  const earlier = findBackfill(tx, subscription.id)
  if (earlier && (earlier.status === 'RUNNING' || earlier.cursorId < earlier.checkpointId)) {
    throw BackfillError.unfinished(topic.name, group)
  }
  // The backfill takes over what the live cursor has not reached yet, so neither the position nor the limit may cut it
  // off.
  const lowerId = Math.min(cursorAt(tx, topic, from), row.cursor)
  const behind = row.next_id - 1 - row.cursor
  const maxMessages = plan.maxMessages === null ? null : Math.max(plan.maxMessages, behind)
  beginBackfill(tx, subscription.id, {
    lowerId,
    plan: { ...plan, maxMessages },
    again: plan.scope === 'retained',
  })
  return requiredBackfill(tx, topic, subscription)
}

function takeBackfill(tx: Transaction, token: string, ttlMs: number, subscriptionId?: number): BackfillRecord | null {
  const now = tx.now()
  const free = rowOf<{ id: number }>(
    tx.prepare(`
      select b.subscription_id as id
      from tidemark_backfill b
      join tidemark_subscription s on s.id = b.subscription_id and s.status in ('ACTIVE', 'PAUSED')
      where b.status = 'RUNNING' and coalesce(b.lease_until, 0) < ?1 and (?2 is null or b.subscription_id = ?2)
      order by b.started_at
      limit 1`),
    now,
    subscriptionId ?? null,
  )
  if (free === undefined) return null
  tx.prepare(
    'update tidemark_backfill set token = ?, lease_until = ?, updated_at = ?, slowed = 0 where subscription_id = ?',
  ).run(token, now + ttlMs, now, free.id)
  return findBackfill(tx, free.id) ?? null
}

function setBackfillStatus(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRef,
  status: 'RUNNING' | 'CANCELLED' | 'FAILED',
  error?: string,
): BackfillRecord {
  const current = findBackfill(tx, subscription.id)
  const isRunning = current?.status === 'RUNNING'
  const isStopped = current?.status === 'CANCELLED' || current?.status === 'FAILED'
  if (!(status === 'RUNNING' ? isStopped : isRunning)) {
    throw BackfillError.cannotBecome(topic.name, subscription.group, current?.status, status)
  }
  const now = tx.now()
  tx.prepare(`
      update tidemark_backfill
      set status = ?2, error = ?3, token = null, lease_until = null, updated_at = ?4, ended_at = ?5
      where subscription_id = ?1`).run(subscription.id, status, error ?? null, now, status === 'RUNNING' ? null : now)
  tx.prepare('update tidemark_subscription set backfilling = 1 where id = ?').run(subscription.id)
  return requiredBackfill(tx, topic, subscription)
}
