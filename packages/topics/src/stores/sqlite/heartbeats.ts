import { TooManyGroupsError } from '../../errors.ts'
import type { Heartbeat, HeartbeatResult, Resurrected } from '../fan-out-store.ts'
import { type Connection, rowOf } from './connection.ts'
import { reportConsumers } from './consumers.ts'
import { resurrect } from './resurrect.ts'
import type { SubscriptionRow } from './subscriptions.ts'

/**
 * A heartbeat forgives the misses only when the last is older than one timeout: a group that beats once, falls silent
 * and beats once more has not recovered. The counts of the present minute and of the one before make the rate.
 */
const BEAT = `
  update tidemark_subscription
  set last_heartbeat_at = ?2,
    misses = case when missed_at is null or missed_at < ?2 - heartbeat_timeout_ms then 0 else misses end,
    processed = processed + ?3,
    failed = failed + ?4,
    filtered = filtered + ?5,
    previous_count = case when minute = ?6 then previous_count when minute = ?6 - 1 then minute_count else 0 end,
    minute_count = case when minute = ?6 then minute_count + ?3 else ?3 end,
    minute = ?6
  where id = ?1`

/** To be called inside a write transaction. */
export function heartbeat(connection: Connection, beats: readonly Heartbeat[]): HeartbeatResult[] {
  const now = connection.now()
  return beats.map(beat => {
    const { subscriptionId, subscriptionUid } = beat
    const row = rowOf<Pick<SubscriptionRow, 'status'>>(
      connection.prepare('select status from tidemark_subscription where id = ? and uid = ?'),
      subscriptionId,
      subscriptionUid,
    )
    if (row === undefined) return { subscriptionId, status: 'GONE', resurrected: null }
    if (row.status === 'CANCELLED') return { subscriptionId, status: 'CANCELLED', resurrected: null }
    const resurrected = row.status === 'DEAD' ? resurrectIfRoom(connection, subscriptionId) : null
    recordBeat(connection, beat, now)
    if (beat.activity) reportConsumers(connection, subscriptionId, beat.activity, now)
    return { subscriptionId, status: resurrected ? 'ACTIVE' : row.status, resurrected }
  })
}

/** null: the bitmaps have no place for it. That must not fail the heartbeats of the others. */
function resurrectIfRoom(connection: Connection, subscriptionId: number): Resurrected | null {
  try {
    return resurrect(connection, subscriptionId)
  } catch (error) {
    if (error instanceof TooManyGroupsError) return null
    throw error
  }
}

export function recordBeat(
  connection: Connection,
  { subscriptionId, processed, failed, filtered }: Omit<Heartbeat, 'subscriptionUid'>,
  now: number,
): void {
  connection.prepare(BEAT).run(subscriptionId, now, processed, failed, filtered, Math.floor(now / 60_000))
}
