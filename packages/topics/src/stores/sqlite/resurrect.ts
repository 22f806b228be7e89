import { InvalidTransitionError, SubscriptionGoneError } from '../../errors.ts'
import type { Resurrected, Resurrection } from '../fan-out-store.ts'
import type { SubscriptionRecord, SubscriptionStatus, TopicRecord } from '../store.ts'
import { type Bitmap, countBits } from './bitmap.ts'
import { type Connection, requiredRow, rowOf, rowsOf } from './connection.ts'

type Place = {
  epoch: number
  cursor: number
  first_id: number
  next_id: number
  backfill_limit: number | null
}

/** What an administrator's verb may say; a heartbeat or a subscribe only says `continue`. */
export type ResurrectionMode = Pick<Resurrection, 'mode'> & Partial<Pick<Resurrection, 'limit' | 'plan'>>

export async function resurrectDead(
  connection: Connection,
  topic: TopicRecord,
  { id, group }: SubscriptionRecord,
  resurrection: Resurrection,
): Promise<Resurrected> {
  return await connection.write(true, () => {
    const row = rowOf<{ status: SubscriptionStatus }>(
      connection.prepare('select status from tidemark_subscription where id = ?'),
      id,
    )
    if (row === undefined) throw new SubscriptionGoneError(topic.name, group)
    if (row.status !== 'DEAD') throw new InvalidTransitionError(topic.name, group, row.status, 'ACTIVE')
    return resurrect(connection, id, resurrection)
  })
}

/**
 * DEAD → ACTIVE, to be called inside a write transaction on one that is DEAD. The cursor stays where it stopped, or is
 * raised as far as the group's limit or `skip` asks; what that passes over is lost to the group, and counted so.
 */
export function resurrect(connection: Connection, id: number, { mode, limit }: ResurrectionMode): Resurrected {
  const place = requiredRow<Place>(
    connection.prepare(`
      select s.epoch, s.cursor, s.backfill_limit, t.first_id, t.next_id
      from tidemark_subscription s
      join tidemark_topic t on t.id = s.topic_id
      where s.id = ?`),
    id,
  )
  const bound = mode === 'skip' ? 0 : (limit ?? place.backfill_limit)
  const cursor = Math.max(place.cursor, place.first_id - 1)
  const waiting = place.next_id - 1 - cursor
  const passed = bound === null ? 0 : Math.max(0, waiting - bound)
  const dropped = mode === 'skip' ? dropHeld(connection, id) : 0
  const now = connection.now()
  connection
    .prepare(`
      update tidemark_subscription
      set status = 'ACTIVE', status_at = ?2, epoch = epoch + 1, misses = 0, missed_at = null, last_heartbeat_at = ?2,
        cursor = cursor + ?3, moved_at = case when ?3 > 0 then ?2 else moved_at end,
        lost = lost + ?4, lost_at = case when ?4 > 0 then ?2 else lost_at end
      where id = ?1`)
    .run(id, now, passed === 0 ? 0 : cursor + passed - place.cursor, passed + dropped)
  return { epoch: place.epoch + 1, skipped: passed + dropped, backfill: false }
}

/** What the group had claimed before it died and not settled; late settlements of it are stale. */
function dropHeld(connection: Connection, id: number): number {
  const leases = rowsOf<{ size: number; settled: Bitmap | null }>(
    connection.prepare(`
      select size, settled from tidemark_lease
      where subscription_id = ? and kind = 'page' and done_at is null and expired_at is null`),
    id,
  )
  const { changes } = connection.prepare('delete from tidemark_retry where subscription_id = ?').run(id)
  connection
    .prepare(`
      update tidemark_lease set expired_at = ?2
      where subscription_id = ?1 and done_at is null and expired_at is null`)
    .run(id, connection.now())
  return leases.reduce((sum, { size, settled }) => sum + size - countBits(settled), Number(changes))
}
