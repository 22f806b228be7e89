/** Evenly sampled ticks, including the first and the last. */
export function evenly(from: number, to: number, limit: number): number[] {
  if (from > to) return []
  const count = Math.min(limit, to - from + 1)
  const step = count === 1 ? 0 : (to - from) / (count - 1)
  return Array.from({ length: count }, (_, index) => Math.round(from + index * step))
}
