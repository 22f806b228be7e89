import { decodeCellRange } from '../contracts/cell-codec.ts'
import type { ContractLimits } from '../contracts/limits.ts'
import type { Cells } from '../contracts/tick.ts'
import { EnvironmentError } from '../environment/errors.ts'
import { pickCells } from '../environment/pick-cells.ts'
import type { EnvironmentProperties } from '../environment/properties.ts'
import type { Region } from './run-index.ts'

/** Cells of a region, from the bytes of a tick. Only the part between its corners is decoded. */
export function readRegion(
  bytes: Uint8Array,
  region: Region,
  world: EnvironmentProperties,
  limits: ContractLimits,
): Cells {
  const { first, last } = boundsOf(region, world)
  return cellsIn(decodeCellRange(bytes, first, last, limits), region, world)
}

/** Flat indexes of the first and last corner: no cell of the region is outside them. */
export function boundsOf({ from, to }: Region, world: EnvironmentProperties): { first: number; last: number } {
  const [first, last] = [world.toFlat(from), world.toFlat(to)]
  if (from.every((coordinate, axis) => coordinate <= (to[axis] as number))) return { first, last }
  throw new EnvironmentError(`The region from [${from}] to [${to}] ends before it starts`)
}

/** Cells within a valid region, as columns: no object is created per cell. */
export function cellsIn(cells: Cells, region: Region, world: EnvironmentProperties): Cells {
  const { dimensions } = world
  const [stride, length] = [Int32Array.from(world.strides), Int32Array.from(world.shape)]
  const [low, high] = [Int32Array.from(region.from), Int32Array.from(region.to)]
  const slots = new Int32Array(cells.flatIndex.length)
  let count = 0
  for (let slot = 0; slot < slots.length; slot++) {
    const flat = cells.flatIndex[slot] as number
    let axis = 0
    for (; axis < dimensions; axis++) {
      const coordinate = ((flat / (stride[axis] as number)) | 0) % (length[axis] as number)
      if (coordinate < (low[axis] as number) || coordinate > (high[axis] as number)) break
    }
    if (axis === dimensions) slots[count++] = slot
  }
  return pickCells(cells, slots.subarray(0, count))
}
