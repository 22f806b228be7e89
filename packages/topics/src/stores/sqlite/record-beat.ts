import type { Heartbeat } from '../heartbeats.ts'
import type { Transaction } from './transaction.ts'

/**
 * A heartbeat clears the misses only if the last miss is older than one timeout: a group that beats once, falls silent
 * and beats again has not recovered. The rate is computed from the counts of the current minute and the previous one.
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

export function recordBeat(
  tx: Transaction,
  { subscriptionId, processed, failed, filtered }: Omit<Heartbeat, 'subscriptionUid'>,
  now: number,
): void {
  tx.prepare(BEAT).run(subscriptionId, now, processed, failed, filtered, Math.floor(now / 60_000))
}
