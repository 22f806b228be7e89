import type { SeriesExtremes, SeriesRow, TickFigures } from '../databases/series-rows.ts'

/** Sums over one or several ticks. */
export type Sums = Omit<SeriesRow, 'level' | 'bucket'>

/** At least one. Always in the order of their ticks, so that the same rows give exactly the same sum. */
export function addUp(rows: readonly Sums[]): Sums {
  const cells: number[] = []
  const total = { firstTick: rows[0]?.firstTick ?? 0, ticks: 0, alive: 0, births: 0, deaths: 0, energy: 0 }
  for (const row of rows) {
    total.ticks += row.ticks
    total.alive += row.alive
    total.births += row.births
    total.deaths += row.deaths
    total.energy += row.energy
    for (const [type, count] of row.cells.entries()) cells[type] = (cells[type] ?? 0) + count
  }
  return { ...total, energy: finite(total.energy), cells, extremes: combined(rows.map(extremesOf)) }
}

/** Of one tick: its figures. Of several without extremes: their means, which lie between. */
export function extremesOf({ ticks, alive, births, deaths, energy, extremes }: Sums): SeriesExtremes {
  if (extremes !== null) return extremes
  const meanEnergy = alive === 0 ? 0 : energy / alive
  const figures = { alive: alive / ticks, births: births / ticks, deaths: deaths / ticks, meanEnergy }
  return { min: figures, max: figures }
}

function combined(all: readonly SeriesExtremes[]): SeriesExtremes | null {
  const [first, ...others] = all
  return first === undefined
    ? null
    : others.reduce(
        (one, other) => ({ min: each(one.min, other.min, Math.min), max: each(one.max, other.max, Math.max) }),
        first,
      )
}

const each = (one: TickFigures, other: TickFigures, choose: (a: number, b: number) => number): TickFigures => ({
  alive: choose(one.alive, other.alive),
  births: choose(one.births, other.births),
  deaths: choose(one.deaths, other.deaths),
  meanEnergy: choose(one.meanEnergy, other.meanEnergy),
})

/** A sum that exceeds what databases can store is capped. */
export const finite = (sum: number): number => Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, sum))
