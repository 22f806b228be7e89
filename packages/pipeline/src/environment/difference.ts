import type { Cells } from '../contracts/tick.ts'
import type { CellsDifference } from '../reading/run-index.ts'
import { pickCells } from './pick-cells.ts'

/** One pass over both, because their flat indexes ascend. */
export function differenceOf(before: Cells, after: Cells): CellsDifference {
  const set = new Int32Array(after.flatIndex.length)
  const emptied = new Int32Array(before.flatIndex.length)
  let setCount = 0
  let emptiedCount = 0
  let old = 0
  for (let slot = 0; slot < after.flatIndex.length; slot++) {
    const flat = after.flatIndex[slot] as number
    while (old < before.flatIndex.length && (before.flatIndex[old] as number) < flat) {
      emptied[emptiedCount++] = before.flatIndex[old++] as number
    }
    const isKept = before.flatIndex[old] === flat
    if (!isKept || !isSame(before, old, after, slot)) set[setCount++] = slot
    if (isKept) old++
  }
  while (old < before.flatIndex.length) emptied[emptiedCount++] = before.flatIndex[old++] as number
  return { set: pickCells(after, set.subarray(0, setCount)), emptied: emptied.slice(0, emptiedCount) }
}

const isSame = (a: Cells, slotA: number, b: Cells, slotB: number): boolean =>
  a.moleculeType[slotA] === b.moleculeType[slotB] &&
  a.moleculeValue[slotA] === b.moleculeValue[slotB] &&
  a.ownerId[slotA] === b.ownerId[slotB]
