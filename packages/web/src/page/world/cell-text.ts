import { tickOfRow } from './history.ts'
import type { Frame, PlaneChoice } from './plane.ts'
import type { Spot } from './spot.ts'

/** "(512, 300) structure 5 of #77": the contents of a cell, in words. `at` is the place of the cell in the frame. */
export function cellText(
  cell: Spot,
  frame: Frame,
  at: number,
  types: readonly string[],
  plane: PlaneChoice,
  interval: number,
): string {
  const type = frame.type[at] ?? 0
  const owner = frame.owner[at] ?? 0
  const what = type === 0 ? 'empty' : `${types[type] || `type ${type}`} ${frame.value[at] ?? 0}`
  return `${placeText(cell, frame.tick, plane, interval)} ${what}${owner > 0 && type !== 0 ? ` of #${owner}` : ''}`
}

function placeText(cell: Spot, tick: number, { x, y, fixed }: PlaneChoice, interval: number): string {
  if (y === undefined) return `(${cell.x}) at tick ${tickOfRow(cell.y, tick, interval)}:`
  const place = fixed.map((value, axis) => (axis === x ? cell.x : axis === y ? cell.y : value))
  return `(${place.join(', ')})`
}
