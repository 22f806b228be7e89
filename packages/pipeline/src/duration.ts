import { ConfigError, type Duration } from 'tidemark'

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const LONGEST_MS = 100 * 365 * 86_400_000

/** Whole milliseconds of a duration; a `ConfigError` that names the option where it isn't one. */
export function parseDuration(option: string, value: Duration, { min = 0 }: { min?: number } = {}): number {
  const ms = toMilliseconds(value)
  if (ms !== undefined && ms >= min && ms <= LONGEST_MS) return Math.ceil(ms)
  const atLeast = min > 0 ? ` of at least ${min} ms` : ''
  throw new ConfigError(option, value, `a duration${atLeast} such as '500ms', '30s', '5m', '24h', or milliseconds`)
}

function toMilliseconds(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  const [, amount, unit] = typeof value === 'string' ? (/^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) ?? []) : []
  return amount === undefined || unit === undefined ? undefined : Number(amount) * (UNIT_MS[unit] ?? Number.NaN)
}
