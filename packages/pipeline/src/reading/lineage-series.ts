import { DEFAULT_LIMITS } from '../contracts/limits.ts'
import { readVitals } from '../contracts/organism-codec.ts'
import { splitOrganisms } from '../contracts/organism-list.ts'
import { IndexedTickError } from '../databases/errors.ts'
import type { IndexDatabase } from '../databases/index-database.ts'
import { unpack } from '../databases/packing.ts'
import { finite } from '../series/sums.ts'
import { Turns } from '../turns.ts'
import { evenly } from './evenly.ts'
import type { SeriesFigures, SeriesPoint } from './run-index.ts'

/** Each is a tick that is read and looked through: a world has thousands of lineages, too many to keep a series of each. */
const MOST_POINTS = 500
const TICKS_AT_ONCE = 32

type Asked = {
  readonly from: number
  readonly to: number
  readonly points: number
  readonly lineage: number
  readonly samplingInterval: number
}

/** Samples of one lineage, evenly over the range. */
export async function readLineage(
  { runId, organismTicks }: IndexDatabase,
  { from, to, points, lineage, samplingInterval }: Asked,
): Promise<readonly SeriesPoint[]> {
  const ticks = await organismTicks.following(evenly(from, to, Math.min(points, MOST_POINTS)))
  const wanted = ticks.filter(tick => tick <= to)
  const found: SeriesPoint[] = []
  const turns = new Turns()
  for (let at = 0; at < wanted.length; at += TICKS_AT_ONCE) {
    for (const { tick, data } of await organismTicks.readMany(wanted.slice(at, at + TICKS_AT_ONCE))) {
      await turns.pass()
      const bytes = unpack(data, DEFAULT_LIMITS.maxTickBytes, `tick ${tick}`)
      try {
        const figures = figuresOf(bytes, lineage, tick, samplingInterval)
        found.push({ tick, ticks: 1, ...figures, cells: [], min: figures, max: figures })
      } catch (error) {
        throw new IndexedTickError(runId, tick, error as Error)
      }
    }
  }
  return found
}

/** As `sumsOfTick` counts all organisms. */
function figuresOf(bytes: Uint8Array, lineage: number, tick: number, samplingInterval: number): SeriesFigures {
  let [alive, births, deaths, energy] = [0, 0, 0, 0]
  for (const each of splitOrganisms(bytes)) {
    const vitals = readVitals(each)
    if (vitals.lineage !== lineage) continue
    if (vitals.parentId !== null && vitals.birthTick > tick - samplingInterval && vitals.birthTick <= tick) births++
    if (vitals.isDead) deaths++
    else {
      alive++
      if (Number.isFinite(vitals.energy)) energy = finite(energy + vitals.energy)
    }
  }
  return { alive, births, deaths, meanEnergy: alive === 0 ? 0 : energy / alive }
}
