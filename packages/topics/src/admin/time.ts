import { ConfigError } from '../errors.ts'
import type { Options } from '../options/options.ts'
import { toTime } from '../options/storable.ts'

/** A point in time, in milliseconds. */
export function readTime(options: Options, what: string, name: string): number | undefined {
  const value = options.value(name)
  if (value === undefined) return undefined
  const time = toTime(value)
  if (time !== undefined) return time
  throw new ConfigError(`${what}.${name}`, value, 'a Date, or milliseconds since 1970')
}
