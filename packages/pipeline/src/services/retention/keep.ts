import { ConfigError, type Duration } from 'tidemark'
import { parseDuration } from '../../duration.ts'

/** How much of a run is kept: everything, as much as fits into `maxDisk`, a duration, or a number of ticks. */
export type Keep = 'forever' | 'fits' | Duration | number

/** What is kept of a run: what fits, a duration, or a number of ticks. */
export type KeptBy =
  | {
      /** As much as fits into the disk budget. */
      readonly fits: true
    }
  | {
      /** Duration in milliseconds. */
      readonly ms: number
    }
  | {
      /** Number of ticks. */
      readonly ticks: number
    }

const ALLOWED = "'forever', 'fits', a duration such as '1h' or '7d', or a number of ticks such as 100000"

/**
 * Parses `keep`; null: forever. A number, also as text, is a number of ticks.
 *
 * @example
 * parseKeep('keep', '1h')
 * parseKeep('keep', 'forever') // null
 */
export function parseKeep(name: string, keep: unknown): KeptBy | null {
  if (keep === 'forever') return null
  if (keep === 'fits') return { fits: true }
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
