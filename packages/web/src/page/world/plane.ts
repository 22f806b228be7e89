import { ROWS } from './rows.ts'

/** Two axes of a world; the others are fixed. A world of one dimension is a row. */
export type PlaneChoice = { readonly x: number; readonly y: number | undefined; readonly fixed: readonly number[] }

/** The cells of one tick in a plane, row by row. 0 is an empty cell. */
export type Frame = {
  readonly tick: number
  readonly width: number
  readonly height: number
  readonly type: Uint8Array
  readonly value: Int32Array
  readonly owner: Int32Array
}

/** A frame without cells, in the memory of an older one of the same size. */
export function blankFrame(tick: number, width: number, height: number, over: Frame | undefined): Frame {
  const cells = width * height
  if (over?.type.length !== cells) {
    return {
      tick,
      width,
      height,
      type: new Uint8Array(cells),
      value: new Int32Array(cells),
      owner: new Int32Array(cells),
    }
  }
  const { type, value, owner } = over
  for (const plane of [type, value, owner]) plane.fill(0)
  return { tick, width, height, type, value, owner }
}

/** The place of a cell in a frame: of a world that is too large, a pixel stands for several cells. */
export const indexIn = (
  frame: Pick<Frame, 'width' | 'height'>,
  world: { readonly width: number; readonly height: number },
  cell: { readonly x: number; readonly y: number },
): number =>
  Math.floor((cell.y * frame.height) / world.height) * frame.width + Math.floor((cell.x * frame.width) / world.width)

/** `plane=0,1` and `fix=_,_,3` of the address; by default the first two axes. */
export function planeOf(shape: readonly number[], plane: string | null, fix: string | null): PlaneChoice {
  const [x, y] = (plane ?? '').split(',').map(Number)
  const isAxis = (axis: number | undefined): axis is number =>
    axis !== undefined && Number.isInteger(axis) && axis >= 0 && axis < shape.length
  const [axisX, axisY] = isAxis(x) && isAxis(y) && x !== y ? [x, y] : [0, shape.length > 1 ? 1 : undefined]
  const given = (fix ?? '').split(',').map(text => (text === '_' || text === '' ? Number.NaN : Number(text)))
  const fixed = shape.map((length, axis) => {
    const value = given[axis]
    return value !== undefined && Number.isInteger(value) ? Math.min(length - 1, Math.max(0, value)) : 0
  })
  return { x: axisX, y: axisY, fixed }
}

/** What is drawn: a world of one dimension has its past above it. */
export const sizeOf = (shape: readonly number[], { x, y }: PlaneChoice): { width: number; height: number } => ({
  width: shape[x] ?? 1,
  height: y === undefined ? ROWS : (shape[y] ?? 1),
})

/** `fix` of the address: `_` for the two axes that are shown. */
export const fixText = ({ x, y, fixed }: PlaneChoice): string =>
  fixed.map((value, axis) => (axis === x || axis === y ? '_' : value)).join(',')
