import { ConfigError, type Duration } from 'tidemark'
import { parseDuration } from '../../duration.ts'

/** How much of a run is kept: everything, a duration, or a number of ticks. */
export type Keep = 'forever' | Duration | number

/** What is kept of a run: a duration, or a number of ticks. */
export type KeptBy =
  | {
      /** Duration in milliseconds. */
      readonly ms: number
    }
  | {
      /** Number of ticks. */
      readonly ticks: number
    }

const ALLOWED = "'forever', a duration such as '1h' or '7d', or a number of ticks such as 100000"

/**
 * Parses `keep`; null: forever. A number, also as text, is a number of ticks.
 *
 * @example
 * parseKeep('keep', '1h')
 * parseKeep('keep', 'forever') // null
 */
export function parseKeep(name: string, keep: unknown): KeptBy | null {
  if (keep === 'forever') return null
  const ticks = typeof keep === 'string' && /^\d+$/.test(keep) ? Number(keep) : keep
  if (typeof ticks === 'number') {
    if (!Number.isSafeInteger(ticks) || ticks < 1) throw new ConfigError(name, keep, ALLOWED)
    return { ticks }
  }
  try {
    return { ms: parseDuration(name, keep as Duration, { min: 1 }) }
  } catch {
    throw new ConfigError(name, keep, ALLOWED)
  }
}
