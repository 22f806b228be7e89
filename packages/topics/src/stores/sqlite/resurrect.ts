import { DEFAULT_BACKFILL } from '../../backfill/backfill-plan.ts'
import { InvalidTransitionError, SubscriptionGoneError } from '../../errors.ts'
import type { BackfillPlan } from '../backfills.ts'
import type { Resurrected, SubscriptionRecord, SubscriptionStatus } from '../subscription-record.ts'
import type { Resurrection } from '../subscriptions.ts'
import type { TopicRecord } from '../topic-record.ts'
import { beginBackfill } from './begin-backfill.ts'
import { takeBit, unrequire } from './bits.ts'
import { countLost, openBackfill, tellLost } from './loss.ts'
import { requiredRow, rowOf } from './rows.ts'
import type { Transaction } from './transaction.ts'
import { forceAdvance } from './zombies.ts'

type DeadGroup = {
  name: string
  tracking: string
  epoch: number
  cursor: number
  first_id: number
  next_id: number
  topic_id: number
  bit: number | null
  backfill_limit: number | null
}

export function resurrectDead(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  resurrection: Resurrection,
): Resurrected {
  const { id, group } = subscription
  const row = rowOf<{ status: SubscriptionStatus; epoch: number }>(
    tx.prepare('select status, epoch from tidemark_subscription where id = ?'),
    id,
  )
  if (row === undefined) throw new SubscriptionGoneError(topic.name, group)
  if (row.status !== 'DEAD') throw new InvalidTransitionError(topic.name, group, row.status, 'ACTIVE')
  if (resurrection.mode === 'continue') return resurrect(tx, id, resurrection)
  requireBit(tx, deadGroupOf(tx, id), id)
  // Runs before the group is live, because losses are counted differently while its bits are cleared.
  const skipped = forceAdvance(tx, topic, subscription)
  activate(tx, id)
  return { epoch: row.epoch + 1, skipped, lost: tellLost(tx, id), backfill: false }
}

/**
 * DEAD → ACTIVE; call it inside a write transaction on a DEAD group. The group continues where it stopped, within its
 * limit; messages beyond the limit are counted as lost to it.
 */
export function resurrect(tx: Transaction, id: number, { limit, plan }: Partial<Resurrection> = {}): Resurrected {
  const place = deadGroupOf(tx, id)
  const isTracked = requireBit(tx, place, id)
  const bound = limit ?? place.backfill_limit
  activate(tx, id)
  const skipped = isTracked
    ? bringBack(tx, id, place, { ...(plan ?? DEFAULT_BACKFILL), maxMessages: bound })
    : passOver(tx, id, place, bound)
  if (skipped > 0) countLost(tx, id, skipped)
  const backfill = isTracked && openBackfill(tx, id) !== undefined
  return { epoch: place.epoch + 1, skipped, lost: tellLost(tx, id), backfill }
}

const deadGroupOf = (tx: Transaction, id: number): DeadGroup =>
  requiredRow<DeadGroup>(
    tx.prepare(`
      select s.epoch, s.cursor, s.bit, s.backfill_limit, s.topic_id, t.name, t.first_id, t.next_id,
        t.config ->> '$.tracking' as tracking
      from tidemark_subscription s
      join tidemark_topic t on t.id = s.topic_id
      where s.id = ?`),
    id,
  )

/**
 * A group whose bit was taken away while it was dead gets another, before anything is changed. False: it needs none.
 */
function requireBit(tx: Transaction, place: DeadGroup, id: number): boolean {
  if (place.tracking !== 'reference') return false
  if (place.bit === null) takeBit(tx, place, id)
  return true
}

function activate(tx: Transaction, id: number): void {
  tx.prepare(`
      update tidemark_subscription
      set status = 'ACTIVE', status_at = ?2, epoch = epoch + 1, misses = 0, missed_at = null, last_heartbeat_at = ?2,
        live_id = (select next_id - 1 from tidemark_topic t where t.id = topic_id)
      where id = ?1`).run(id, tx.now())
}

/** Tracked by offset: the cursor stays, or moves so far that at most `bound` messages are waiting. */
function passOver(tx: Transaction, id: number, place: DeadGroup, bound: number | null): number {
  const cursor = Math.max(place.cursor, place.first_id - 1)
  const skipped = bound === null ? 0 : Math.max(0, place.next_id - 1 - cursor - bound)
  if (skipped > 0) {
    tx.prepare('update tidemark_subscription set cursor = ?, moved_at = ? where id = ?').run(
      cursor + skipped,
      tx.now(),
      id,
    )
  }
  return skipped
}

/**
 * Tracked by reference: a backfill delivers what the group missed; what the limit leaves out is no longer required of
 * it.
 */
function bringBack(tx: Transaction, id: number, place: DeadGroup, plan: BackfillPlan): number {
  const skipped = beginBackfill(tx, id, { lowerId: place.cursor, plan, again: false })
  if (skipped > 0) unrequire(tx, place, place.next_id - 1 - (plan.maxMessages ?? 0))
  return skipped
}
