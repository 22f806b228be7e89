import { ConfigError } from '../errors.ts'
import type { Duration } from '../options/duration.ts'
import type { Options } from '../options/options.ts'
import { DEFAULT_HEARTBEAT, type HeartbeatSettings } from '../stores/subscription-record.ts'

/** Heartbeats of a group. For an existing group, given values replace the stored ones. */
export type HeartbeatOptions = {
  /** Interval between heartbeats. */
  interval?: Duration
  /** Time without heartbeat that counts as a miss (default 300 s). */
  timeout?: Duration
  /** Number of misses after which the group is dead (default 3). */
  misses?: number
}

/** Several heartbeats must fit into the timeout. */
const INTERVALS_PER_TIMEOUT = DEFAULT_HEARTBEAT.timeoutMs / DEFAULT_HEARTBEAT.intervalMs
const FEWEST_INTERVALS = 2

export function parseHeartbeat(path: string, options: Options | undefined): Partial<HeartbeatSettings> {
  if (options === undefined) return {}
  const intervalMs = options.duration('interval', undefined, { min: 1 })
  const timeoutMs = options.duration('timeout', undefined, { min: FEWEST_INTERVALS })
  const deadAfterMisses = options.integer('misses', undefined, { min: 1, max: 1_000 })
  options.done()
  if (intervalMs !== undefined && timeoutMs !== undefined && timeoutMs < intervalMs * FEWEST_INTERVALS) {
    throw new ConfigError(`${path}.timeout`, timeoutMs, `at least twice the interval (${intervalMs} ms)`)
  }
  return {
    ...bothOf(intervalMs, timeoutMs),
    ...(deadAfterMisses !== undefined && { deadAfterMisses }),
  }
}

/** The default settings of a new group with this timeout. */
export const heartbeatDefaults = (timeoutMs: number): HeartbeatSettings => ({
  ...DEFAULT_HEARTBEAT,
  timeoutMs,
  intervalMs: Math.min(DEFAULT_HEARTBEAT.intervalMs, Math.ceil(timeoutMs / INTERVALS_PER_TIMEOUT)),
})

/** If only one is given and contradicts the other's default, the other is adjusted. */
function bothOf(intervalMs: number | undefined, timeoutMs: number | undefined): Partial<HeartbeatSettings> {
  if (intervalMs !== undefined && timeoutMs !== undefined) return { intervalMs, timeoutMs }
  if (timeoutMs !== undefined) return { timeoutMs, intervalMs: heartbeatDefaults(timeoutMs).intervalMs }
  if (intervalMs === undefined) return {}
  if (intervalMs * FEWEST_INTERVALS <= DEFAULT_HEARTBEAT.timeoutMs) return { intervalMs }
  return { intervalMs, timeoutMs: intervalMs * INTERVALS_PER_TIMEOUT }
}
