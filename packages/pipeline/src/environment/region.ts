import type { Cells } from '../contracts/tick.ts'
import type { Region } from '../reading/run-index.ts'
import { EnvironmentError } from './errors.ts'
import { pickCells } from './pick-cells.ts'
import type { EnvironmentProperties } from './properties.ts'

/** The cells within the region, still columns. No object is made for a cell, and none outside is looked at for long. */
export function cellsIn(cells: Cells, region: Region, world: EnvironmentProperties): Cells {
  const first = world.toFlat(region.from)
  const last = world.toFlat(region.to)
  checkOrder(region)
  // Flat indexes ascend, and no cell of the region is before its first corner or behind its last.
  const from = lowerBound(cells.flatIndex, first)
  const to = lowerBound(cells.flatIndex, last + 1)
  return pickCells(cells, slotsIn(cells.flatIndex, from, to, region, world))
}

/** The slot of a flat index; -1 where the cell is empty. */
export function slotOf(flatIndex: Int32Array, flat: number): number {
  const slot = lowerBound(flatIndex, flat)
  return flatIndex[slot] === flat ? slot : -1
}

function checkOrder({ from, to }: Region): void {
  if (from.every((coordinate, axis) => coordinate <= (to[axis] ?? -1))) return
  throw new EnvironmentError(`The region from [${from}] to [${to}] ends before it begins`)
}

function slotsIn(
  flatIndex: Int32Array,
  start: number,
  end: number,
  region: Region,
  { strides, shape, dimensions }: EnvironmentProperties,
): Int32Array {
  const [stride, length] = [Int32Array.from(strides), Int32Array.from(shape)]
  const [low, high] = [Int32Array.from(region.from), Int32Array.from(region.to)]
  const slots = new Int32Array(end - start)
  let count = 0
  for (let slot = start; slot < end; slot++) {
    const flat = flatIndex[slot] as number
    let axis = 0
    for (; axis < dimensions; axis++) {
      const coordinate = ((flat / (stride[axis] as number)) | 0) % (length[axis] as number)
      if (coordinate < (low[axis] as number) || coordinate > (high[axis] as number)) break
    }
    if (axis === dimensions) slots[count++] = slot
  }
  return slots.subarray(0, count)
}

/** The first slot whose index is not below this one. */
function lowerBound(flatIndex: Int32Array, flat: number): number {
  let low = 0
  let high = flatIndex.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((flatIndex[middle] as number) < flat) low = middle + 1
    else high = middle
  }
  return low
}
