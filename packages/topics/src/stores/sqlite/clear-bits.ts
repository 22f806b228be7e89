import type { SubscriptionStatus } from '../subscription-record.ts'
import { type GroupBit, MOST_BITS, wipeBitOf } from './bits.ts'
import { noteDone, noteHeld } from './done-ranges.ts'
import { openBackfill } from './loss.ts'
import { requiredRow, rowOf } from './rows.ts'
import { trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** Whether `clearBits` has something to do. */
export const hasBitsToClear = (tx: Transaction): boolean =>
  (findEnded(tx) ?? findWipe(tx) ?? findReleasable(tx)) !== undefined

/**
 * Clears one page: of the first DEAD or CANCELLED group that is not finished, then of the first bit to clear. After
 * that, if a topic has few bits left, the bit of an ended group is taken; completion history is kept while there is
 * room.
 */
export function clearBits(tx: Transaction, limit: number): { cleared: number; more: boolean } {
  const ended = findEnded(tx)
  if (ended) return { cleared: clearEnded(tx, ended, limit), more: true }
  const wipe = findWipe(tx)
  if (wipe) return { cleared: wipePage(tx, wipe, limit), more: true }
  const releasable = findReleasable(tx)
  if (releasable) release(tx, releasable)
  return { cleared: 0, more: releasable !== undefined }
}

/** Below this many free bits, ended groups lose theirs. */
const SPARE_BITS = 16

type Ended = { id: number; topic_id: number; bit: number; cleared_id: number; status: SubscriptionStatus }

type Wipe = { topic_id: number; bit: number; next_id: number }

const findEnded = (tx: Transaction): Ended | undefined =>
  rowOf<Ended>(
    tx.prepare(`
      select id, topic_id, bit, cleared_id, status from tidemark_subscription
      where bit is not null and status in ('DEAD', 'CANCELLED') and cleared_epoch < epoch
      order by id
      limit 1`),
  )

const findWipe = (tx: Transaction): Wipe | undefined =>
  rowOf<Wipe>(tx.prepare('select topic_id, bit, next_id from tidemark_bit_wipe order by topic_id, bit limit 1'))

/** Cancelled groups go first, because they never come back. */
const findReleasable = (tx: Transaction): (GroupBit & { id: number }) | undefined =>
  rowOf<GroupBit & { id: number }>(
    tx.prepare(`
      select s.id, s.topic_id, s.bit from tidemark_subscription s
      where s.bit is not null and s.status in ('DEAD', 'CANCELLED') and s.cleared_epoch = s.epoch
        and (select count(*) from tidemark_subscription x where x.topic_id = s.topic_id and x.bit is not null)
          + (select count(*) from tidemark_bit_wipe w where w.topic_id = s.topic_id) > ?
      order by s.status = 'DEAD', s.status_at
      limit 1`),
    MOST_BITS - SPARE_BITS,
  )

function release(tx: Transaction, { id }: { readonly id: number }): void {
  wipeBitOf(tx, id)
  tx.prepare('update tidemark_subscription set bit = null where id = ?').run(id)
}

function clearEnded(tx: Transaction, ended: Ended, limit: number): number {
  const { id, topic_id, bit, cleared_id } = ended
  const upTo = pageEnd(tx, topic_id, cleared_id, limit)
  if (ended.status === 'DEAD') noteUndelivered(tx, ended, upTo)
  tx.prepare(`
      update tidemark_subscription
      set cleared_id = coalesce(?2, 0), cleared_epoch = case when ?2 is null then epoch else cleared_epoch end
      where id = ?1`).run(id, upTo)
  if (upTo === null) return 0
  const { changes } = tx
    .prepare(`
      update ${trackTable(topic_id)} set required = required & ~(1 << ?1)
      where id > ?2 and id <= ?3 and required & ~completed & (1 << ?1) <> 0`)
    .run(bit, cleared_id, upTo)
  return Number(changes)
}

/**
 * For a group that may be resurrected before its backfill was delivered: completed messages beyond it must not be
 * delivered twice.
 */
function noteUndelivered(tx: Transaction, { id, topic_id, bit, cleared_id }: Ended, upTo: number | null): void {
  const backfill = openBackfill(tx, id)
  if (backfill === undefined) return
  // Only what the group holds at this point can still be settled.
  if (cleared_id === 0) noteHeld(tx, { id, bit }, backfill.cursor_id)
  if (upTo !== null) noteDone(tx, topic_id, { id, bit }, Math.max(cleared_id, backfill.cursor_id), upTo)
}

function wipePage(tx: Transaction, { topic_id, bit, next_id }: Wipe, limit: number): number {
  const upTo = pageEnd(tx, topic_id, next_id - 1, limit)
  if (upTo === null) {
    tx.prepare('delete from tidemark_bit_wipe where topic_id = ? and bit = ?').run(topic_id, bit)
    return 0
  }
  tx.prepare('update tidemark_bit_wipe set next_id = ? where topic_id = ? and bit = ?').run(upTo + 1, topic_id, bit)
  const { changes } = tx
    .prepare(`
      update ${trackTable(topic_id)} set required = required & ~(1 << ?1), completed = completed & ~(1 << ?1)
      where id between ?2 and ?3 and (required | completed) & (1 << ?1) <> 0`)
    .run(bit, next_id, upTo)
  return Number(changes)
}

/** null if nothing is left. */
function pageEnd(tx: Transaction, topicId: number, after: number, limit: number): number | null {
  const { last } = requiredRow<{ last: number | null }>(
    tx.prepare(`select max(id) as last from (select id from ${trackTable(topicId)} where id > ? order by id limit ?)`),
    after,
    limit,
  )
  return last
}
