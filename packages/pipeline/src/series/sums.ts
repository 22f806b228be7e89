import type { SeriesRow } from '../databases/series-rows.ts'

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
  return { ...total, energy: finite(total.energy), cells }
}

/** A sum that exceeds what databases can store is capped. */
export const finite = (sum: number): number => Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, sum))
