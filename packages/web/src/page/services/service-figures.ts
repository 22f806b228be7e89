import { bytes, count, duration, rate } from '../format.ts'
import type { ServiceFailure } from './service-shapes.ts'

const isRate = (name: string): boolean => name.endsWith('PerSecond')

/** "flushMsP95" → "flush P95", with its value as a time. */
export function metricOf(name: string, value: number): readonly [name: string, value: string] {
  const unit = /Ms(?=$|[A-Z])/.exec(name)
  if (unit !== null) return [words(name.replace(/Ms(?=$|[A-Z])/, '')), duration(value)]
  if (/Bytes$/.test(name)) return [words(name), bytes(value)]
  if (isRate(name)) return [words(name.slice(0, -'PerSecond'.length)), `${rate(value)}/s`]
  if (/(Rate|Ratio|Fill)$/.test(name)) return [words(name), `${Math.round(value * 100)} %`]
  return [words(name), count(value)]
}

const words = (name: string): string =>
  name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/\bp(\d\d)\b/, 'P$1')

export type Trouble = ServiceFailure & { readonly times: number }

/** Failures with the same text are one line, with their number; the newest first. */
export function troublesOf(errors: readonly ServiceFailure[]): readonly Trouble[] {
  const same = Map.groupBy(errors, ({ name, message }) => `${name}: ${message}`)
  return [...same.values()]
    .map(all => ({ ...(all.at(-1) as ServiceFailure), times: all.length }))
    .toSorted((one, other) => other.at.localeCompare(one.at))
}
