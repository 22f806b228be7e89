import type { BackfillOptions, Duration, From } from 'tidemark'
import type { Static } from 'typebox'
import { BadRequestError } from './errors.ts'
import type { BackfillGiven } from './schemas/groups.ts'

/** Schemas have checked the shape; values they can't judge (April 31) are refused by the library. */
export const timeOf = (text: string): Date => new Date(text)

export const durationOf = (value: string | number): Duration => value as Duration

export function fromOf(given: 'now' | 'beginning' | { timestamp: string } | { messageId: string }): From {
  return typeof given === 'object' && 'timestamp' in given ? { timestamp: timeOf(given.timestamp) } : given
}

/** Only the fields that have a value: an undefined option is not the same as an absent one. */
export const given = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never

/** Converts the value if there is one. */
export const mapped = <T, R>(value: T | undefined, convert: (value: T) => R): R | undefined =>
  value === undefined ? undefined : convert(value)

/** Checks that the start of a range, `{ from, to }` or `{ since, until }`, is not after its end. */
export function requireOrder(range: { readonly [end: string]: number | Date | undefined }): void {
  const [[first, low] = [], [last, high] = []] = Object.entries(range)
  if (low === undefined || high === undefined || Number(low) <= Number(high)) return
  throw new BadRequestError(`'${last}' is before '${first}'. Swap the two`)
}

export function planOf({ targetLatency, ...rest }: Static<typeof BackfillGiven>): BackfillOptions {
  return { ...rest, ...given({ targetLatency: mapped(targetLatency, durationOf) }) } as BackfillOptions
}
