import { pushQuery, query } from '../address.ts'
import type { Size } from './camera.ts'
import type { Organism } from './organism.ts'
import { type Frame, indexIn, type PlaneChoice } from './plane.ts'
import type { Spot } from './spot.ts'

export const selectedId = (): number | undefined => {
  const text = query.value.get('o')
  return text === null || !/^\d+$/.test(text) ? undefined : Number(text)
}

/** The back button undoes it. */
export const select = (id: number | undefined): void => pushQuery({ o: id === undefined ? null : String(id) })

/** The next or previous by id. */
export function selectNext(all: readonly Organism[], current: number | undefined, step: 1 | -1): void {
  const ids = all.map(({ id }) => id).sort((one, other) => one - other)
  if (ids.length === 0) return
  const next = step > 0 ? ids.find(id => id > (current ?? -1)) : ids.findLast(id => id < (current ?? Infinity))
  select(next ?? (step > 0 ? ids[0] : ids.at(-1)))
}

export const spotOf = (position: readonly number[], { x, y }: PlaneChoice): Spot => ({
  x: position[x] ?? 0,
  y: y === undefined ? 0 : (position[y] ?? 0),
})

/** Organisms in a cell of the plane; clicking it again takes the next one. Where there is none, the owner of what lies there. */
export function selectAt(
  cell: Spot,
  frame: Frame | undefined,
  organisms: readonly Organism[],
  plane: PlaneChoice,
  world: Size,
): void {
  const here = organisms.filter(({ position }) => {
    const spot = spotOf(position, plane)
    return spot.x === cell.x && spot.y === cell.y && isInPlane(position, plane)
  })
  const current = selectedId()
  const place = here.findIndex(({ id }) => id === current)
  const chosen =
    here[(place + 1) % Math.max(1, here.length)]?.id ??
    (frame === undefined ? undefined : frame.owner[indexIn(frame, world, cell)])
  select(chosen !== undefined && chosen > 0 ? chosen : undefined)
}

export const isInPlane = (position: readonly number[], { x, y, fixed }: PlaneChoice): boolean =>
  position.every((coordinate, axis) => axis === x || axis === y || coordinate === fixed[axis])

/** Where the core of an organism is in a frame: exact for the tick that is drawn, and without a request. */
export function coreOf(frame: Frame, world: Size, id: number, coreType: number): Spot | undefined {
  if (coreType < 0) return undefined
  const { owner, type, width } = frame
  for (let at = owner.indexOf(id); at >= 0; at = owner.indexOf(id, at + 1)) {
    if (type[at] === coreType)
      return {
        x: Math.floor(((at % width) * world.width) / width),
        y: Math.floor((Math.floor(at / width) * world.height) / frame.height),
      }
  }
  return undefined
}
