import type { Span } from '../databases/contiguous.ts'
import type { SeriesRow } from '../databases/series-rows.ts'
import type { SeriesPoint } from '../reading/run-index.ts'
import { bucketSize, TOP_LEVEL } from './levels.ts'
import { addUp, extremesOf } from './sums.ts'

export type TickSpan = { readonly from: number; readonly to: number }

/**
 * Points of `width` ticks each, the first from `start` on. Each consists of whole buckets of `level`, except at the
 * ends.
 */
export type PointPlan = { readonly level: number; readonly start: number; readonly width: number }

/** Buckets of one level to read. */
export type Piece = { readonly level: number; readonly buckets: Span }

/** Level whose buckets are just finer than the points: between `points` and eight times as many rows are read. */
export function planPoints({ from, to }: TickSpan, points: number, samplingInterval: number): PointPlan {
  const wanted = Math.max(samplingInterval, Math.ceil((to - from + 1) / points))
  let level = 0
  while (level < TOP_LEVEL && bucketSize(level + 1, samplingInterval) <= wanted) level++
  const size = bucketSize(level, samplingInterval)
  const start = Math.floor(from / size) * size
  return { level, start, width: Math.ceil((to - start + 1) / points / size) * size }
}

/** Exactly the ticks of the span: whole buckets of the level, and finer ones at its ends. */
export function coverSpan({ from, to }: TickSpan, level: number, samplingInterval: number): Piece[] {
  if (from > to) return []
  if (level === 0) return [{ level, buckets: { first: from, last: to } }]
  const size = bucketSize(level, samplingInterval)
  const first = Math.ceil(from / size)
  const last = Math.floor((to + 1) / size) - 1
  if (first > last) return coverSpan({ from, to }, level - 1, samplingInterval)
  return [
    ...coverSpan({ from, to: first * size - 1 }, level - 1, samplingInterval),
    { level, buckets: { first, last } },
    ...coverSpan({ from: (last + 1) * size, to }, level - 1, samplingInterval),
  ]
}

/** `types`: minimum number of molecule types. */
export function toPoints(rows: readonly SeriesRow[], { start, width }: PointPlan, types: number): SeriesPoint[] {
  const byPoint = Map.groupBy(rows, ({ firstTick }) => Math.floor((firstTick - start) / width))
  return [...byPoint.values()].map(each => pointOf(each, types))
}

function pointOf(rows: readonly SeriesRow[], types: number): SeriesPoint {
  const sums = addUp(rows)
  const { firstTick, ticks, alive, births, deaths, energy, cells } = sums
  return {
    tick: firstTick,
    ticks,
    alive: alive / ticks,
    births,
    deaths,
    meanEnergy: alive === 0 ? 0 : energy / alive,
    cells: Array.from({ length: Math.max(types, cells.length) }, (_, type) => (cells[type] ?? 0) / ticks),
    ...extremesOf(sums),
  }
}
