import { SubscriptionGoneError } from '../../errors.ts'
import type { BackfillStatus, CleanUpStep } from '../fan-out-store.ts'
import type { SubscriptionRecord, SubscriptionStatus, TopicRecord } from '../store.ts'
import { type Bitmap, countBits, emptyBitmap, hasBit, setBit } from './bitmap.ts'
import { type Connection, requiredRow, rowOf, rowsOf } from './connection.ts'
import { countUndone } from './done-ranges.ts'
import { hasTable, trackTable } from './topics.ts'
import { heldIds } from './tracking.ts'
import { livePages } from './watermark.ts'

type Group = { id: number; group_name: string; status: SubscriptionStatus; cursor: number; bit: number | null }
type Held = { size: number; settled: Bitmap | null }

/**
 * The messages from `first` to `last` are gone. Whatever a group still had to do with them is settled, in every group; of
 * a live one it is counted as lost, of a dead one noted until it comes back. To be called in the transaction that removes
 * them, before their bitmaps go.
 */
export function takeFromGroups(
  connection: Connection,
  topic: TopicRecord,
  first: number,
  last: number,
): CleanUpStep['lost'] {
  const groups = rowsOf<Group>(
    connection.prepare(`
      select id, group_name, status, cursor, bit from tidemark_subscription where topic_id = ? order by group_name`),
    topic.id,
  )
  return groups.flatMap(group => {
    // The backfill first: what is held is not its.
    const backfilled = skipBackfill(connection, topic, group, last)
    const count =
      backfilled +
      skipUnclaimed(connection, group, first, last) +
      settlePages(connection, group, last) +
      dropRetries(connection, group, last)
    if (count === 0 || group.status === 'CANCELLED') return []
    if (group.status === 'DEAD') {
      noteLost(connection, group.id, count)
      return []
    }
    countLost(connection, group.id, count)
    return [{ group: group.group_name, count }]
  })
}

/** Told when the group comes back. */
function noteLost(connection: Connection, subscriptionId: number, count: number): void {
  connection
    .prepare('update tidemark_subscription set lost_dead = lost_dead + ? where id = ?')
    .run(count, subscriptionId)
}

/** Gives what a group that comes back had noted as lost, now counted. */
export function tellLost(connection: Connection, subscriptionId: number): number {
  const { lost } = requiredRow<{ lost: number }>(
    connection.prepare('select lost_dead as lost from tidemark_subscription where id = ?'),
    subscriptionId,
  )
  if (lost === 0) return 0
  connection.prepare('update tidemark_subscription set lost_dead = 0 where id = ?').run(subscriptionId)
  countLost(connection, subscriptionId, lost)
  return lost
}

/** Gives how many were not acknowledged before; to be called inside a write transaction. */
export function acknowledgeLoss(connection: Connection, topic: TopicRecord, { id, group }: SubscriptionRecord): number {
  const row = rowOf<{ open: number }>(
    connection.prepare('select lost - lost_acknowledged as open from tidemark_subscription where id = ?'),
    id,
  )
  if (row === undefined) throw new SubscriptionGoneError(topic.name, group)
  connection.prepare('update tidemark_subscription set lost_acknowledged = lost where id = ?').run(id)
  return row.open
}

export function countLost(connection: Connection, subscriptionId: number, count: number): void {
  connection
    .prepare('update tidemark_subscription set lost = lost + ?, lost_at = ? where id = ?')
    .run(count, connection.now(), subscriptionId)
}

function skipUnclaimed(connection: Connection, { id, cursor }: Group, first: number, last: number): number {
  if (cursor >= last) return 0
  // Not a move of the group's own: moved_at stays.
  connection.prepare('update tidemark_subscription set cursor = ? where id = ?').run(last, id)
  return last - Math.max(cursor, first - 1)
}

/** A settlement of theirs that comes later finds them settled, and succeeds. */
function settlePages(connection: Connection, { id }: Group, last: number): number {
  let count = 0
  for (const page of livePages(connection, id)) {
    if (page.first_id > last) continue
    const slots = Array.from({ length: Math.min(page.size, last - page.first_id + 1) }, (_, slot) => slot)
    count += settleSlots(connection, page.token, page, slots)
  }
  return count
}

function dropRetries(connection: Connection, { id }: Group, last: number): number {
  const gone = rowsOf<{ token: string | null; slot: number | null }>(
    connection.prepare('delete from tidemark_retry where subscription_id = ? and id <= ? returning token, slot'),
    id,
    last,
  )
  const held = Map.groupBy(gone, ({ token }) => token)
  for (const [token, rows] of held) {
    if (token === null) continue
    const lease = requiredRow<Held>(
      connection.prepare('select size, settled from tidemark_lease where token = ?'),
      token,
    )
    settleSlots(
      connection,
      token,
      lease,
      rows.map(({ slot }) => slot ?? 0),
    )
  }
  return gone.length
}

/** Gives how many of the slots were not settled yet. */
function settleSlots(connection: Connection, token: string, lease: Held, slots: readonly number[]): number {
  const settled = lease.settled ? Uint8Array.from(lease.settled) : emptyBitmap(lease.size)
  const open = slots.filter(slot => !hasBit(settled, slot))
  for (const slot of open) setBit(settled, slot)
  if (open.length > 0) {
    const doneAt = countBits(settled) === lease.size ? connection.now() : null
    connection
      .prepare('update tidemark_lease set settled = ?, done_at = ? where token = ?')
      .run(doneAt === null ? settled : null, doneAt, token)
  }
  return open.length
}

/** What it was to bring and has not: that is passed over. */
function skipBackfill(connection: Connection, topic: TopicRecord, group: Group, last: number): number {
  const backfill = openBackfill(connection, group.id)
  if (backfill === undefined || backfill.cursor_id >= Math.min(last, backfill.upper_id)) return 0
  const count = backfillLoss(connection, topic, group, backfill, last)
  connection
    .prepare(`
      update tidemark_backfill
      set cursor_id = min(?1, upper_id), checkpoint_id = max(checkpoint_id, min(?1, upper_id)) where subscription_id = ?2`)
    .run(last, group.id)
  return count
}

export type OpenBackfill = { cursor_id: number; checkpoint_id: number; upper_id: number; status: BackfillStatus }

/** One that has something to bring yet. */
export const openBackfill = (connection: Connection, subscriptionId: number): OpenBackfill | undefined =>
  rowOf<OpenBackfill>(
    connection.prepare(`
      select cursor_id, checkpoint_id, upper_id, status from tidemark_backfill
      where subscription_id = ? and (status = 'RUNNING' or cursor_id < checkpoint_id)`),
    subscriptionId,
  )

/** The highest id that it will deliver if nobody does anything about it. */
export const lastOf = ({ status, upper_id, checkpoint_id }: OpenBackfill): number =>
  status === 'RUNNING' ? upper_id : checkpoint_id

/**
 * Messages up to `last` that a backfill has not delivered. Of a live group those that it had set the bit for; what it has
 * not come to was never promised. Of a dead one, whose bits may be cleared, all that it has neither done nor holds.
 */
export function backfillLoss(
  connection: Connection,
  { id: topicId }: { readonly id: number },
  group: Pick<Group, 'id' | 'status' | 'bit'>,
  backfill: OpenBackfill,
  last: number,
): number {
  if (group.status === 'DEAD') {
    return countUndone(connection, topicId, group, backfill.cursor_id, Math.min(last, lastOf(backfill)))
  }
  if (group.bit === null || !hasTable(connection, trackTable(topicId))) return 0
  const upTo = Math.min(last, backfill.checkpoint_id)
  const { count } = requiredRow<{ count: number }>(
    connection.prepare(`
      select count(*) as count from ${trackTable(topicId)}
      where id > ?1 and id <= ?2 and required & ~completed & (1 << ?3) <> 0 and id not in (select value from json_each(?4))`),
    backfill.cursor_id,
    upTo,
    group.bit,
    JSON.stringify(heldIds(connection, group.id, backfill.cursor_id + 1, upTo)),
  )
  return count
}
