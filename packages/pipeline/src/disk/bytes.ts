import { ConfigError } from 'tidemark'

/** Size in bytes: a number, or text with a unit of 1000 (`'2GB'`) or 1024 (`'2GiB'`). */
export type Bytes = number | string

const UNITS: { readonly [unit: string]: number } = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
}
const WRITTEN = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i
const ALLOWED = "a size such as '500MB', '2GB' or '1.5GiB', or a whole number of bytes"

/**
 * Converts a size to bytes. Throws a `ConfigError` that names the option.
 *
 * @example
 * parseBytes('maxDisk', '2GB') // 2_000_000_000
 */
export function parseBytes(name: string, value: unknown, { min = 0, none = false } = {}): number {
  const bytes = typeof value === 'number' ? value : bytesOf(value)
  const orNone = none ? ", or 'none'" : ''
  if (bytes === undefined || !Number.isSafeInteger(bytes)) throw new ConfigError(name, value, `${ALLOWED}${orNone}`)
  if (bytes < min) throw new ConfigError(name, value, `at least ${sizeText(min)}${orNone}`)
  return bytes
}

function bytesOf(value: unknown): number | undefined {
  const [, number, unit = ''] = typeof value === 'string' ? (WRITTEN.exec(value.trim()) ?? []) : []
  const factor = UNITS[unit.toLowerCase()]
  return number === undefined || factor === undefined ? undefined : Math.round(Number(number) * factor)
}

/**
 * Formats bytes for people.
 *
 * @example
 * sizeText(1_980_000_000) // '1.98 GB'
 */
export function sizeText(bytes: number): string {
  for (const [unit, factor, digits] of [['TB', 1e12, 2] as const, ['GB', 1e9, 2] as const]) {
    if (bytes >= factor) return `${(bytes / factor).toFixed(digits)} ${unit}`
  }
  return bytes >= 1e5 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`
}
