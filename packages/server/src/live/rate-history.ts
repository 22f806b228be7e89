/** Intervals at which rates are kept, and how many of each: five minutes, an hour, a day. */
export const STEPS = {
  '1s': { ms: 1_000, points: 300 },
  '10s': { ms: 10_000, points: 360 },
  '1m': { ms: 60_000, points: 1_440 },
} as const
export type Step = keyof typeof STEPS
const NAMES = Object.keys(STEPS) as Step[]

/** The figures of a series at one time: counters that only grow, and levels. */
export type Figures = { readonly published?: number; readonly consumed?: number; readonly lag?: number }
const FIGURES = ['published', 'consumed', 'lag'] as const
type Figure = (typeof FIGURES)[number]

export type Columns = { readonly [name in Figure]?: readonly (number | null)[] }

/** The newest reads, oldest first, as columns of numbers: a point as an object took three times the memory. */
type Ring = { readonly slots: number[] } & { readonly [name in Figure]: number[] }
type Rings = { readonly [step in Step]: Ring }

/** A group takes 50 kB after a day, so 200 MB in all. */
const MOST_SERIES = 4_000
/** Series beyond that which somebody has asked for lately. */
const MOST_WANTED = 200
/** Two reads that are so far apart that nothing is known of the time between them are not compared. */
const LONGEST_GAP_MS = 60_000

/**
 * Rates and lags over time, in memory. Counters are kept as read, and a rate is the difference of two of them, so it
 * covers every process and survives missed reads.
 */
export class RateHistory {
  readonly #series = new Map<string, Rings>()
  readonly #wanted = new Set<string>()
  readonly #maxSeries: number

  constructor(maxSeries = MOST_SERIES) {
    this.#maxSeries = maxSeries
  }

  /**
   * Adds one read. Series that it does not contain are dropped: their topic or group is gone. Where there are too many,
   * the first ones are kept, and those that somebody asks for.
   */
  add(at: number, looked: ReadonlyMap<string, Figures>): void {
    for (const name of this.#series.keys()) if (!looked.has(name)) this.#series.delete(name)
    for (const [name, figures] of looked) {
      const rings = this.#series.get(name) ?? this.#admit(name)
      if (rings === undefined) continue
      for (const step of NAMES) put(rings[step], Math.floor(at / STEPS[step].ms), figures, step)
    }
  }

  has = (name: string): boolean => this.#series.has(name)

  #admit(name: string): Rings | undefined {
    if (this.#series.size >= this.#maxSeries && !this.#wanted.has(name)) return undefined
    const rings = { '1s': emptyRing(), '10s': emptyRing(), '1m': emptyRing() }
    this.#series.set(name, rings)
    return rings
  }

  #want(name: string): void {
    this.#wanted.delete(name)
    this.#wanted.add(name)
    const [oldest] = this.#wanted
    if (this.#wanted.size <= MOST_WANTED || oldest === undefined) return
    this.#wanted.delete(oldest)
    if (this.#series.size > this.#maxSeries) this.#series.delete(oldest)
  }

  /** Lags of a group at the end of each step, oldest first; undefined where one of them is not known. */
  lags(name: string, step: Step, points: number, now: number): readonly number[] | undefined {
    const { slots = [], lag = [] } = this.#series.get(name)?.[step] ?? {}
    const last = Math.floor(now / STEPS[step].ms)
    const newest = slots.slice(-points)
    const isWhole = newest.length === points && newest.every((slot, index) => slot === last - points + 1 + index)
    return isWhole && lag.length === slots.length ? lag.slice(-points) : undefined
  }

  /**
   * The newest points of a series, oldest first; null if nothing is known. While nobody watches, there is a read every
   * ten seconds: in between, a rate is the mean of that time, and a lag is the one last read.
   */
  read(name: string, step: Step, points: number, now: number): Columns {
    if (this.#series.size >= this.#maxSeries) this.#want(name)
    const ring = this.#series.get(name)?.[step]
    if (ring === undefined) return {}
    const known = FIGURES.filter(figure => ring[figure].length > 0)
    return Object.fromEntries(known.map(figure => [figure, columnOf(ring, figure, step, points, now)]))
  }
}

const emptyRing = (): Ring => ({ slots: [], published: [], consumed: [], lag: [] })

function put(ring: Ring, slot: number, figures: Figures, step: Step): void {
  const known = FIGURES.filter(figure => figures[figure] !== undefined)
  const columns = [ring.slots, ...known.map(figure => ring[figure])]
  if (ring.slots.at(-1) === slot) for (const column of columns) column.pop()
  for (const [index, column] of columns.entries()) {
    const figure = known[index - 1]
    column.push(figure === undefined ? slot : (figures[figure] ?? 0))
    if (column.length > STEPS[step].points + 1) column.shift()
  }
}

function columnOf(ring: Ring, figure: Figure, step: Step, points: number, now: number): (number | null)[] {
  const last = Math.floor(now / STEPS[step].ms)
  const column: (number | null)[] = []
  let index = 0
  for (let slot = last - points + 1; slot <= last; slot++) {
    while ((ring.slots[index] ?? slot) < slot) index++
    column.push(figure === 'lag' ? levelAt(ring, index, slot, step) : rateAt(ring, figure, index, step))
  }
  return column
}

/** What was last read; `index` is the read at this slot, or the next one. */
function levelAt(ring: Ring, index: number, slot: number, step: Step): number | null {
  if (ring.slots[index] === slot) return ring.lag[index] ?? null
  return gapOf(ring, index, step) === undefined ? null : (ring.lag[index - 1] ?? null)
}

/** A counter that fell was reset: what it counted before is unknown. */
function rateAt(ring: Ring, counter: 'published' | 'consumed', index: number, step: Step): number | null {
  const gapMs = gapOf(ring, index, step)
  const [before, now] = [ring[counter][index - 1], ring[counter][index]]
  if (gapMs === undefined || before === undefined || now === undefined || now < before) return null
  return ((now - before) / gapMs) * 1_000
}

/** Time between this read and the one before. */
function gapOf({ slots }: Ring, index: number, step: Step): number | undefined {
  const [before, now] = [slots[index - 1], slots[index]]
  if (before === undefined || now === undefined) return undefined
  const gapMs = (now - before) * STEPS[step].ms
  return gapMs <= LONGEST_GAP_MS ? gapMs : undefined
}
