import { WANTED } from './backfill-batch.ts'
import type { BackfillRow } from './backfill-record.ts'
import { heldIds } from './held-ids.ts'
import { waitingSince } from './log-rows.ts'
import { rowsOf } from './rows.ts'
import { logTable, trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** Ids of a backfill that are counted one by one; the rest is estimated from ids. */
const EXACT_BACKFILL = 1_000

export type WaitingGroup = {
  readonly id: number
  readonly cursor: number
  readonly bit: number | null
  readonly backfilling: number
}
export type LogBounds = {
  readonly topicId: number
  readonly first_id: number
  readonly next_id: number
  readonly fill_next_id: number | null
}

/** Messages that a group has not claimed for the first time, and when the oldest of them was created. */
export type Waiting = { readonly count: number; readonly oldestAt: number | null }

/** Waiting messages of the live stream, and of a backfill. */
export function waitingFor(
  tx: Transaction,
  bounds: LogBounds,
  group: WaitingGroup,
  backfill: BackfillRow | undefined,
): Waiting {
  const cursor = Math.max(group.cursor, bounds.first_id - 1)
  const live = {
    count: bounds.next_id - 1 - cursor,
    oldestAt: waitingSince(tx, bounds.topicId, cursor + 1),
  }
  const { bit } = group
  if (group.backfilling === 0 || bit === null || backfill === undefined) return live
  const ahead = backfillAhead(tx, bounds, { ...group, bit }, backfill)
  return { count: live.count + ahead.count, oldestAt: ahead.oldestAt ?? live.oldestAt }
}

/**
 * Beyond the ids checked one by one, the count is estimated: the scanned range holds at most what was marked, the rest
 * may hold a message per id.
 */
function backfillAhead(
  tx: Transaction,
  bounds: LogBounds,
  group: WaitingGroup & { bit: number },
  backfill: BackfillRow,
): Waiting {
  const { status, checkpoint_id, upper_id, cursor_id, processed } = backfill
  const low = Math.max(cursor_id, bounds.first_id - 1)
  const last = status === 'RUNNING' ? upper_id : checkpoint_id
  const upTo = Math.min(last, low + EXACT_BACKFILL)
  if (low >= last) return { count: 0, oldestAt: null }
  const held = new Set(heldIds(tx, group.id, low + 1, upTo))
  const marked = markedIds(tx, bounds, group, low, Math.min(upTo, checkpoint_id))
  const unmarked = wantedIds(tx, bounds, group, backfill, Math.max(low, checkpoint_id), upTo)
  const counted = [...marked, ...unmarked].filter(id => !held.has(id))
  const markedBeyond = Math.min(Math.max(0, checkpoint_id - upTo), Math.max(0, processed - marked.length))
  const unmarkedBeyond = last - Math.max(upTo, Math.min(checkpoint_id, last))
  const count = counted.length + markedBeyond + unmarkedBeyond
  const [first = count > 0 ? upTo + 1 : undefined] = counted
  return { count, oldestAt: first === undefined ? null : waitingSince(tx, bounds.topicId, first) }
}

/** Ids that have the group's bit and are waiting to be claimed. */
function markedIds(
  tx: Transaction,
  { topicId }: LogBounds,
  { bit }: { bit: number },
  low: number,
  upTo: number,
): number[] {
  return rowsOf<{ id: number }>(
    tx.prepare(`
      select id from ${trackTable(topicId)}
      where id > ?2 and id <= ?3 and required & ~completed & (1 << ?1) <> 0
      order by id`),
    bit,
    low,
    upTo,
  ).map(({ id }) => id)
}

/** Ids that the backfill has not reached yet and will mark for the group. */
function wantedIds(
  tx: Transaction,
  { topicId, fill_next_id }: LogBounds,
  { bit }: { bit: number },
  { scope, settings, subscription_id }: BackfillRow,
  low: number,
  upTo: number,
): number[] {
  const { again } = JSON.parse(settings) as { again: boolean }
  return rowsOf<{ id: number }>(
    tx.prepare(`
      select l.id
      from ${logTable(topicId)} l
      left join ${trackTable(topicId)} t on t.id = l.id
      where l.id > ?2 and l.id <= ?3 and ${WANTED}
      order by l.id`),
    ...[bit, low, upTo, scope === 'retained' ? 1 : 0, again ? 1 : 0],
    ...[fill_next_id ?? Number.MAX_SAFE_INTEGER, subscription_id],
  ).map(({ id }) => id)
}
