/** Counts from heartbeats: messages of the current minute and the previous one. */
export type MinuteCounts = {
  /** Number of the current minute since 1970. */
  readonly minute: number
  /** Messages of that minute. */
  readonly minuteCount: number
  /** Messages of the minute before. */
  readonly previousCount: number
}

const MINUTE_MS = 60_000

/**
 * Messages per second over the last sixty seconds; the older minute is weighted by its share of them.
 *
 * @example
 * const now = Date.now()
 * const rate = ratePerSecond({ minute: Math.floor(now / 60_000), minuteCount: 30, previousCount: 0 }, now)
 */
export function ratePerSecond({ minute, minuteCount, previousCount }: MinuteCounts, now: number): number {
  const age = Math.floor(now / MINUTE_MS) - minute
  const older = 1 - (now % MINUTE_MS) / MINUTE_MS
  if (age <= 0) return (minuteCount + previousCount * older) / 60
  return age === 1 ? (minuteCount * older) / 60 : 0
}
