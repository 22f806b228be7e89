import type { CleanUpStep } from '../fan-out-store.ts'
import type { SubscriptionStatus, TopicRecord } from '../store.ts'
import { type Bitmap, countBits, emptyBitmap, hasBit, setBit } from './bitmap.ts'
import { type Connection, requiredRow, rowOf, rowsOf } from './connection.ts'
import { hasTable, trackTable } from './topics.ts'
import { livePages } from './watermark.ts'

type Group = { id: number; group_name: string; status: SubscriptionStatus; cursor: number; bit: number | null }
type Held = { size: number; settled: Bitmap | null }

/**
 * The messages from `first` to `last` are gone. Whatever a group still had to do with them is settled, in every group; of
 * a live one it is counted as lost. To be called in the transaction that removes them, before their bitmaps go.
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
    const count =
      skipUnclaimed(connection, group, first, last) +
      settlePages(connection, group, last) +
      dropRetries(connection, group, last) +
      skipBackfill(connection, topic, group, last)
    if (count === 0 || !['ACTIVE', 'PAUSED'].includes(group.status)) return []
    countLost(connection, group.id, count)
    return [{ group: group.group_name, count }]
  })
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

type Backfill = { cursor_id: number; checkpoint_id: number }

/** What it had set the group's bit for and not delivered yet. What it has not come to was never promised. */
function skipBackfill(connection: Connection, topic: TopicRecord, { id, bit }: Group, last: number): number {
  const backfill = rowOf<Backfill>(
    connection.prepare(`
      select cursor_id, checkpoint_id from tidemark_backfill
      where subscription_id = ? and cursor_id < min(?, upper_id) and (status = 'RUNNING' or cursor_id < checkpoint_id)`),
    id,
    last,
  )
  if (backfill === undefined) return 0
  const count = pendingBits(connection, topic, bit, backfill.cursor_id, Math.min(last, backfill.checkpoint_id))
  connection
    .prepare(`
      update tidemark_backfill
      set cursor_id = min(?1, upper_id), checkpoint_id = max(checkpoint_id, min(?1, upper_id)) where subscription_id = ?2`)
    .run(last, id)
  return count
}

/** The messages after `after`, up to `last`, that have the group's bit and are not completed by it. */
export function pendingBits(
  connection: Connection,
  topic: TopicRecord,
  bit: number | null,
  after: number,
  last: number,
): number {
  if (bit === null || !hasTable(connection, trackTable(topic.id))) return 0
  const { count } = requiredRow<{ count: number }>(
    connection.prepare(`
      select count(*) as count from ${trackTable(topic.id)}
      where id > ? and id <= ? and required & ~completed & ? <> 0`),
    after,
    last,
    BigInt.asIntN(64, 1n << BigInt(bit)),
  )
  return count
}
