import type { BackfillPlan, BackfillStatus } from '../backfills.ts'
import { takeBit } from './bits.ts'
import { countUndone, forgetDone } from './done-ranges.ts'
import { heldIds } from './held-ids.ts'
import { requiredRow } from './rows.ts'
import { logTable, trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

type Begin = {
  /** The highest id below the backfill's range. */
  readonly lowerId: number
  readonly plan: BackfillPlan
  /** Also deliver messages that the group has already completed. */
  readonly again: boolean
}

type BackfillState = {
  topic_id: number
  name: string
  epoch: number
  bit: number | null
  first_id: number
  next_id: number
  cursor_id: number | null
  checkpoint_id: number
  status: BackfillStatus
}

/**
 * Moves the group's live cursor to the present and starts a backfill of what lies in between. An undelivered earlier
 * backfill is merged, unless `again` asks for what the group has completed too. Returns how many messages the limit
 * left out. Call it in a write transaction, in a topic with reference tracking.
 */
export function beginBackfill(tx: Transaction, subscriptionId: number, { lowerId, plan, again }: Begin): number {
  const place = requiredRow<BackfillState>(
    tx.prepare(`
      select s.topic_id, t.name, s.epoch, s.bit, t.first_id, t.next_id, b.cursor_id, b.checkpoint_id, b.status
      from tidemark_subscription s
      join tidemark_topic t on t.id = s.topic_id
      left join tidemark_backfill b on b.subscription_id = s.id
      where s.id = ?`),
    subscriptionId,
  )
  const bit = place.bit ?? takeBit(tx, place, subscriptionId)
  if (again) forgetDone(tx, subscriptionId)
  const isEarlierOpen =
    place.cursor_id !== null && (place.status === 'RUNNING' || place.cursor_id < place.checkpoint_id)
  const upper = place.next_id - 1
  const wanted = isEarlierOpen && !again ? Math.min(lowerId, place.cursor_id ?? lowerId) : lowerId
  const lowest = Math.max(wanted, place.first_id - 1)
  const lower = plan.maxMessages === null ? lowest : Math.max(lowest, upper - plan.maxMessages)
  const skipped = countUndone(tx, place.topic_id, { id: subscriptionId, bit: place.bit }, lowest, lower)
  const isEmpty = lower >= upper
  const now = tx.now()
  const { batchSize, maxPerSecond, targetMs } = plan
  tx.prepare(`
      insert or replace into tidemark_backfill (
        subscription_id, topic_id, epoch, status, scope, settings, lower_id, upper_id, checkpoint_id, cursor_id,
        started_at, updated_at, ended_at
      )
      values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?7, ?7, ?9, ?9, ?10)`).run(
    ...[subscriptionId, place.topic_id, place.epoch, isEmpty ? 'COMPLETED' : 'RUNNING', plan.scope],
    ...[JSON.stringify({ batchSize, maxPerSecond, targetMs, again }), lower, Math.max(lower, upper), now],
    isEmpty ? now : null,
  )
  tx.prepare(`
      update tidemark_subscription
      set bit = ?2, cursor = ?3, moved_at = ?4, backfilling = ?5, cleared_id = 0
      where id = ?1`).run(subscriptionId, bit, upper, now, isEmpty ? 0 : 1)
  requireHeld(tx, subscriptionId, place.topic_id, bit, upper)
  return skipped
}

/**
 * Marks what the group still holds from before as required, because the dead-group clean-up may have cleared its bits.
 */
function requireHeld(tx: Transaction, subscriptionId: number, topicId: number, bit: number, last: number): void {
  const held = heldIds(tx, subscriptionId, 1, last)
  if (held.length === 0) return
  tx.prepare(`
      insert into ${trackTable(topicId)} (id, required)
      select l.id, 1 << ?1 from ${logTable(topicId)} l where l.id in (select value from json_each(?2))
      on conflict do update set required = required | excluded.required`).run(bit, JSON.stringify(held))
}
