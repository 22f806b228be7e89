import { IndexDatabaseError, IndexedTickError } from '../databases/errors.ts'
import type { RunIndex } from '../reading/run-index.ts'
import type { TilePixels } from './make-tile.ts'
import type { TileMakers } from './tile-makers.ts'
import type { TilePlan } from './tile-plan.ts'

/**
 * A picture of a tick, row by row: types as bytes, all other planes as 32-bit numbers. null: the tick is not indexed.
 *
 * @example
 * await using opened = await openRunIndex('sqlite:./data/index', run)
 * await using makers = new TileMakers()
 * const plan = planTile(metadata, { size: { width: 512, height: 512 }, plane: 'lineage', reduce: 'telling' })
 * const pixels = await readTile(opened, 500, plan, makers)
 */
export async function readTile(
  { runId, environment, organisms }: RunIndex,
  tick: number,
  plan: TilePlan,
  makers: TileMakers,
): Promise<TilePixels | null> {
  const cells = await environment.stored(tick)
  if (cells === null) return null
  const made = await makers.make(cells, plan).catch((error: Error) => {
    throw error instanceof IndexDatabaseError ? error : new IndexedTickError(runId, tick, error)
  })
  if (plan.plane !== 'lineage') return made.pixels
  return (await makers.replace(made, await organisms.lineagesOf(made.numbers))).pixels
}
