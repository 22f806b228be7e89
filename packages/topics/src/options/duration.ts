import { ConfigError } from '../errors.ts'

/** A duration: `'500ms'`, `'30s'`, `'5m'`, `'24h'`, `'7d'`, or a number of milliseconds. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h' | 'd'}` | number

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
// setTimeout's limit is 2^31-1 ms; durations that only reach the database may be far longer.
const LONGEST_MS = 100 * 365 * 86_400_000

/**
 * Convert a duration to whole milliseconds. Throws `ConfigError` with the name of the option if it is not one.
 *
 * @example
 * const timeoutMs = parseDuration('timeout', '30s') // 30000
 */
export function parseDuration(option: string, value: unknown, { min = 0 }: { min?: number } = {}): number {
  const ms = toMilliseconds(value)
  if (ms === undefined || ms < min || ms > LONGEST_MS) {
    const atLeast = min > 0 ? ` of at least ${min} ms` : ''
    throw new ConfigError(
      option,
      value,
      `a duration${atLeast} such as '500ms', '30s', '5m', '24h', '7d', or milliseconds`,
    )
  }
  return Math.ceil(ms)
}

function toMilliseconds(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined
  if (typeof value !== 'string') return undefined
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) ?? []
  if (amount === undefined || unit === undefined) return undefined
  return Number(amount) * (UNIT_MS[unit] ?? Number.NaN)
}
