/** A part of the log: its first id, the time of its first message (null if none is left) and the number of messages. */
export type Bucket = { readonly position: number; readonly at: string | null; readonly count: number }

/** The position of a message or a time in the drawing, from 0 at the left to 1 at the right. The axis is time. */
export type Scale = {
  readonly startMs: number
  readonly endMs: number
  readonly first: number
  readonly last: number
  xOf(position: number): number
  positionAt(x: number): number
  timeAt(x: number): number
  /** Number of messages between two places. */
  countBetween(from: number, to: number): number
}

/**
 * Between the starts of two buckets, messages are assumed to be evenly distributed: the drawing is approximate, its
 * figures are exact. `endMs` is the right edge: now, or the end of the zoomed part.
 */
export function scaleOf(buckets: readonly Bucket[], last: number, endMs: number): Scale | undefined {
  const points = buckets
    .flatMap(({ position, at }) => (at === null ? [] : [[position, Date.parse(at)] as const]))
    .filter(([, at], index, all) => index === 0 || at >= (all[index - 1]?.[1] ?? 0))
  const [begin] = points
  if (begin === undefined) return undefined
  const [first, startMs] = begin
  const end = [Math.max(last, first) + 1, Math.max(endMs, points.at(-1)?.[1] ?? 0, startMs + 1)] as const
  const all = [...points, end]
  const span = end[1] - startMs
  return {
    startMs,
    endMs: end[1],
    first,
    last,
    xOf: position => clamp((between(all, 0, 1, position) - startMs) / span),
    positionAt: x => Math.round(between(all, 1, 0, startMs + clamp(x) * span)),
    timeAt: x => startMs + clamp(x) * span,
    countBetween: (from, to) =>
      between(all, 1, 0, startMs + clamp(to) * span) - between(all, 1, 0, startMs + clamp(from) * span),
  }
}

const clamp = (value: number): number => Math.min(1, Math.max(0, value))

type Point = readonly [number, number]

/** Interpolates linearly between the two points around a value. */
function between(points: readonly Point[], by: 0 | 1, wanted: 0 | 1, value: number): number {
  let [low, high] = [0, points.length - 1]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((points[middle]?.[by] ?? 0) <= value) low = middle
    else high = middle
  }
  const [a, b] = [points[low] ?? [0, 0], points[high] ?? [0, 0]] as [Point, Point]
  const share = b[by] === a[by] ? 0 : clamp((value - a[by]) / (b[by] - a[by]))
  return a[wanted] + share * (b[wanted] - a[wanted])
}

/** Messages per second in equal parts of the time, each with its height from 0 to 1. */
export function densityOf(
  { startMs, endMs, countBetween }: Scale,
  parts: number,
): readonly { readonly perSecond: number; readonly height: number }[] {
  const seconds = (endMs - startMs) / 1_000 / parts
  const rates = Array.from({ length: parts }, (_, index) => countBetween(index / parts, (index + 1) / parts) / seconds)
  const most = Math.max(...rates, 0)
  return rates.map(perSecond => ({ perSecond, height: most === 0 ? 0 : perSecond / most }))
}

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000,
] as const

/**
 * Round times, no more than fit. `offsetMs` is how far the user's time zone is ahead of UTC: midnight there is round.
 */
export function timeTicks(
  startMs: number,
  endMs: number,
  most: number,
  offsetMs = 0,
): { readonly stepMs: number; readonly at: readonly number[] } {
  const stepMs = STEPS_MS.find(step => (endMs - startMs) / step <= most) ?? Math.ceil((endMs - startMs) / most)
  const first = Math.ceil((startMs + offsetMs) / stepMs) * stepMs - offsetMs
  const at: number[] = []
  for (let time = first; time <= endMs; time += stepMs) at.push(time)
  return { stepMs, at }
}
