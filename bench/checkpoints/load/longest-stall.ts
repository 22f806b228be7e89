import type { Series } from './series.ts'

/** Seconds between two reports with more deliveries than the one before. */
export function longestStall(deliveries: Pick<Series, 'entries'>, from: number, to: number): number {
  let longest = 0
  let grownAt = from
  let last = Number.NEGATIVE_INFINITY
  for (const { at, value } of deliveries.entries(from, to)) {
    if (value > last) {
      longest = Math.max(longest, at - grownAt)
      grownAt = at
    }
    last = value
  }
  return Math.max(longest, to - grownAt) / 1_000
}
