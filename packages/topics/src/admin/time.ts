import { ConfigError } from '../errors.ts'
import type { Options } from '../options.ts'

/** A point in time, in milliseconds. */
export function readTime(options: Options, what: string, name: string): number | undefined {
  const value = options.value(name)
  if (value === undefined) return undefined
  const time = value instanceof Date ? value.getTime() : value
  if (typeof time === 'number' && Number.isFinite(time)) return time
  throw new ConfigError(`${what}.${name}`, value, 'a Date, or milliseconds since 1970')
}
