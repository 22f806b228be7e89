import type { BackfillBatch, BackfillRecord } from '../backfills.ts'
import { type BackfillRow, findBackfill } from './backfill-record.ts'
import { forgetDone, isInDoneRange, markDone } from './done-ranges.ts'
import { rowOf } from './rows.ts'
import { logTable, trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

type Running = Pick<BackfillRow, 'topic_id' | 'scope' | 'settings' | 'upper_id' | 'checkpoint_id'> & {
  bit: number
  fill_next_id: number | null
}

export function backfillBatch(
  tx: Transaction,
  subscriptionId: number,
  { token, limit, ttlMs, slowed = false }: BackfillBatch,
): BackfillRecord | 'lost' {
  const running = rowOf<Running>(
    tx.prepare(`
      select b.topic_id, b.scope, b.settings, b.upper_id, b.checkpoint_id, s.bit, t.fill_next_id
      from tidemark_backfill b
      -- of a group that has died meanwhile nothing is marked: its bits are being cleared
      join tidemark_subscription s on s.id = b.subscription_id and s.status in ('ACTIVE', 'PAUSED')
      join tidemark_topic t on t.id = b.topic_id
      where b.subscription_id = ? and b.token = ? and b.status = 'RUNNING'`),
    subscriptionId,
    token,
  )
  if (running === undefined) return 'lost'
  const upTo = Math.min(running.checkpoint_id + limit, running.upper_id)
  markDone(tx, running.topic_id, { id: subscriptionId, bit: running.bit }, running.checkpoint_id, upTo)
  const marked = markBatch(tx, subscriptionId, running, upTo)
  const isDone = upTo >= running.upper_id
  if (isDone) forgetDone(tx, subscriptionId)
  const now = tx.now()
  tx.prepare(`
      update tidemark_backfill
      set checkpoint_id = ?2, processed = processed + ?3, updated_at = ?4, slowed = ?7,
        status = case when ?5 then 'COMPLETED' else status end, ended_at = case when ?5 then ?4 end,
        token = case when ?5 then null else token end, lease_until = case when ?5 then null else ?6 end
      where subscription_id = ?1`).run(
    ...[subscriptionId, upTo, marked, now, isDone ? 1 : 0, now + ttlMs, slowed ? 1 : 0],
  )
  return findBackfill(tx, subscriptionId) ?? 'lost'
}

/**
 * Whether a message belongs to the backfill: ?1 the group's bit, ?4 all retained messages, ?5 completed ones again, ?6
 * the position of filling, ?7 the group. A message without a bitmap row was finished before tracking began, unless
 * filling has not reached it yet.
 */
export const WANTED = `
  (?4 or case when t.id is null then l.id >= ?6 else t.required & ~t.completed <> 0 or t.required = 0 end)
  and (?5 or t.id is null or t.completed & (1 << ?1) = 0)
  and not ${isInDoneRange('?7', 'l.id')}`

function markBatch(tx: Transaction, subscriptionId: number, running: Running, upTo: number): number {
  const { topic_id, scope, settings, checkpoint_id, bit, fill_next_id } = running
  const { again } = JSON.parse(settings) as { again: boolean }
  const { changes } = tx
    .prepare(`
      insert into ${trackTable(topic_id)} as kept (id, required, completed)
      select l.id, 1 << ?1, 0
      from ${logTable(topic_id)} l
      left join ${trackTable(topic_id)} t on t.id = l.id
      where l.id > ?2 and l.id <= ?3
        and ${WANTED}
      on conflict do update set required = required | (1 << ?1), completed = completed & ~(1 << ?1)`)
    .run(
      ...[bit, checkpoint_id, upTo, scope === 'retained' ? 1 : 0, again ? 1 : 0],
      ...[fill_next_id ?? Number.MAX_SAFE_INTEGER, subscriptionId],
    )
  return Number(changes)
}
