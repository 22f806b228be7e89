import { decodeMoleculeTypes } from '../contracts/cell-codec.ts'
import { DEFAULT_LIMITS } from '../contracts/limits.ts'
import { readVitals } from '../contracts/organism-codec.ts'
import type { RawTick } from '../contracts/tick-codec.ts'
import { finite, type Sums } from './sums.ts'

/** Types from this one on are counted together: a type number can be two billion, and the list would be as long. */
const LAST_TYPE = 1_023

/**
 * Births are counted since the previous sample; founders, which have no parent, are not births. Dead organisms appear
 * in the tick in which they died, but are not alive in it. Energy that is not a number counts as zero.
 */
export function sumsOfTick({ tick, cells, organisms }: RawTick, samplingInterval: number): Sums {
  let alive = 0
  let births = 0
  let deaths = 0
  let energy = 0
  for (const bytes of organisms) {
    const vitals = readVitals(bytes)
    const isNew = vitals.birthTick > tick - samplingInterval && vitals.birthTick <= tick
    if (vitals.parentId !== null && isNew) births++
    if (vitals.isDead) deaths++
    else {
      alive++
      if (Number.isFinite(vitals.energy)) energy = finite(energy + vitals.energy)
    }
  }
  return { firstTick: tick, ticks: 1, alive, births, deaths, energy, cells: cellsByType(cells), extremes: null }
}

function cellsByType(bytes: Uint8Array): number[] {
  const counts: number[] = []
  for (const type of decodeMoleculeTypes(bytes, DEFAULT_LIMITS)) {
    const counted = Math.min(type, LAST_TYPE)
    while (counts.length <= counted) counts.push(0)
    counts[counted] = (counts[counted] ?? 0) + 1
  }
  return counts
}
