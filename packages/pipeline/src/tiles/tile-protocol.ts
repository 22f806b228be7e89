import type { PackedBytes } from '../databases/packing.ts'
import { distinct, makeTile, replaceNumbers, type TilePixels } from './make-tile.ts'
import type { TilePlan } from './tile-plan.ts'

export const TILE_THREAD = { kind: 'tiles' } as const

/** What a thread has to do with the cells of a tick, or with the pixels it made of them. */
export type TileWork =
  | { readonly type: 'make'; readonly cells: PackedBytes; readonly plan: TilePlan }
  | { readonly type: 'replace'; readonly pixels: TilePixels; readonly from: Int32Array; readonly to: Int32Array }

/** `numbers`: the owners that occur, to be replaced by their lineages. */
export type TileResult = { readonly pixels: TilePixels; readonly numbers: Int32Array }

export type ToTileThread = { readonly id: number; readonly work: TileWork }
export type FromTileThread = { readonly id: number } & (
  | { readonly result: TileResult }
  | { readonly problem: { readonly name: string; readonly code: string; readonly message: string } }
)

const NONE = new Int32Array(0)

export function doTileWork(work: TileWork): TileResult {
  if (work.type === 'replace') {
    replaceNumbers(work.pixels, work.from, work.to)
    return { pixels: work.pixels, numbers: NONE }
  }
  const pixels = makeTile(work.cells, work.plan)
  return { pixels, numbers: work.plan.plane === 'lineage' ? distinct(pixels) : NONE }
}
