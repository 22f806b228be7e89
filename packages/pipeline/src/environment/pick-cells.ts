import type { Cells } from '../contracts/tick.ts'

/** The cells of these slots, in new columns. */
export function pickCells(cells: Cells, slots: Int32Array): Cells {
  return {
    flatIndex: slots.map(slot => cells.flatIndex[slot] as number),
    moleculeType: slots.map(slot => cells.moleculeType[slot] as number),
    moleculeValue: slots.map(slot => cells.moleculeValue[slot] as number),
    ownerId: slots.map(slot => cells.ownerId[slot] as number),
  }
}
