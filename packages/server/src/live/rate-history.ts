/** Intervals at which rates are kept, and how many of each: five minutes, an hour, a day. */
export const STEPS = {
  '1s': { ms: 1_000, points: 300 },
  '10s': { ms: 10_000, points: 360 },
  '1m': { ms: 60_000, points: 1_440 },
} as const
export type Step = keyof typeof STEPS

/** The figures of a series at one time: counters that only grow, and levels. */
export type Figures = { readonly published?: number; readonly consumed?: number; readonly lag?: number }

export type Columns = {
  readonly published?: readonly (number | null)[]
  readonly consumed?: readonly (number | null)[]
  readonly lag?: readonly (number | null)[]
}

type Point = { readonly slot: number; readonly figures: Figures }

/**
 * Rates and lags over time, in memory. Counters are kept as read, and a rate is the difference of two of them, so it
 * covers every process and survives missed reads.
 */
export class RateHistory {
  readonly #series = new Map<string, { readonly [step in Step]: Point[] }>()
  readonly #maxSeries: number

  constructor(maxSeries = 20_000) {
    this.#maxSeries = maxSeries
  }

  /** Adds one read. Series that it does not contain are dropped: their topic or group is gone. */
  add(at: number, looked: ReadonlyMap<string, Figures>): void {
    for (const name of this.#series.keys()) if (!looked.has(name)) this.#series.delete(name)
    for (const [name, figures] of looked) {
      let rings = this.#series.get(name)
      if (rings === undefined) {
        if (this.#series.size >= this.#maxSeries) continue
        rings = { '1s': [], '10s': [], '1m': [] }
        this.#series.set(name, rings)
      }
      for (const step of Object.keys(STEPS) as Step[]) put(rings[step], Math.floor(at / STEPS[step].ms), figures, step)
    }
  }

  has = (name: string): boolean => this.#series.has(name)

  /** Lags of a group at the end of each step, oldest first; undefined where one of them is not known. */
  lags(name: string, step: Step, points: number, now: number): readonly number[] | undefined {
    const last = Math.floor(now / STEPS[step].ms)
    const newest = this.#series.get(name)?.[step].slice(-points) ?? []
    const isWhole = newest.length === points && newest.every(({ slot }, index) => slot === last - points + 1 + index)
    const lags = newest.flatMap(({ figures }) => figures.lag ?? [])
    return isWhole && lags.length === points ? lags : undefined
  }

  /** The newest points of a series, oldest first; null if nothing is known. */
  read(name: string, step: Step, points: number, now: number): Columns {
    const ring = this.#series.get(name)?.[step] ?? []
    const last = Math.floor(now / STEPS[step].ms)
    const bySlot = new Map(ring.map(point => [point.slot, point.figures]))
    const columns: { [name in keyof Figures]-?: (number | null)[] } = { published: [], consumed: [], lag: [] }
    for (let slot = last - points + 1; slot <= last; slot++) {
      const [figures, before] = [bySlot.get(slot), bySlot.get(slot - 1)]
      columns.published.push(perSecond(figures?.published, before?.published, step))
      columns.consumed.push(perSecond(figures?.consumed, before?.consumed, step))
      columns.lag.push(figures?.lag ?? null)
    }
    const [newest] = ring.slice(-1)
    return {
      ...(newest?.figures.published !== undefined && { published: columns.published }),
      ...(newest?.figures.consumed !== undefined && { consumed: columns.consumed }),
      ...(newest?.figures.lag !== undefined && { lag: columns.lag }),
    }
  }
}

function put(ring: Point[], slot: number, figures: Figures, step: Step): void {
  if (ring.at(-1)?.slot === slot) ring.pop()
  ring.push({ slot, figures })
  if (ring.length > STEPS[step].points + 1) ring.shift()
}

/** A counter that fell was reset: what it counted before is unknown. */
function perSecond(now: number | undefined, before: number | undefined, step: Step): number | null {
  if (now === undefined || before === undefined || now < before) return null
  return ((now - before) / STEPS[step].ms) * 1_000
}
