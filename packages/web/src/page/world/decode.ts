import { blankFrame, type Frame, type PlaneChoice } from './plane.ts'

/**
 * Decodes a CellStateList (protobuf): four packed columns, of which the first is delta-coded and the last two are
 * zigzag-coded. It runs in the worker on up to a million cells, so it walks all columns at once and creates nothing: the
 * cells are written over those of an older frame of the same size, if there is one.
 */
export function decodeCells(
  bytes: Uint8Array,
  tick: number,
  shape: readonly number[],
  plane: PlaneChoice,
  over?: Frame,
): Frame {
  const width = shape[plane.x] ?? 1
  const height = plane.y === undefined ? 1 : (shape[plane.y] ?? 1)
  const frame = blankFrame(tick, width, height, over)
  const [flat, types, values, owners] = findColumns(bytes).map(piece => piece && new Varints(bytes, piece))
  const isFlat = shape.length <= 2 && plane.x === 0
  let position = 0
  while (flat?.hasMore) {
    position += flat.next()
    const type = types?.next() ?? 0
    const value = values?.next() ?? 0
    const owner = owners?.next() ?? 0
    const at = isFlat ? position : placeIn(position, shape, plane, width)
    if (at < 0) continue
    frame.type[at] = Math.min(255, type)
    frame.value[at] = unzigzag(value)
    frame.owner[at] = unzigzag(owner)
  }
  return frame
}

const unzigzag = (value: number): number => (value >>> 1) ^ -(value & 1)

/** In a world of more dimensions: the index in the plane, or -1 for a cell outside of it. */
function placeIn(position: number, shape: readonly number[], { x, y, fixed }: PlaneChoice, width: number): number {
  let rest = position
  let atX = 0
  let atY = 0
  for (let axis = 0; axis < shape.length; axis++) {
    const length = shape[axis] as number
    const coordinate = rest % length
    rest = (rest - coordinate) / length
    if (axis === x) atX = coordinate
    else if (axis === y) atY = coordinate
    else if (coordinate !== fixed[axis]) return -1
  }
  return atY * width + atX
}

type Piece = readonly [start: number, end: number]

function findColumns(bytes: Uint8Array): (Piece | undefined)[] {
  const columns: (Piece | undefined)[] = [undefined, undefined, undefined, undefined]
  let at = 0
  while (at < bytes.length) {
    const tag = bytes[at++] as number
    let length = 0
    let shift = 0
    for (let byte = 0x80; byte >= 0x80; shift += 7) {
      byte = bytes[at++] as number
      length |= (byte & 0x7f) << shift
    }
    if ((tag & 7) !== 2) throw new Error('The server sent cells that this page cannot read')
    columns[(tag >> 3) - 1] = [at, at + length]
    at += length
  }
  return columns
}

class Varints {
  readonly #bytes: Uint8Array
  readonly #end: number
  #at: number

  constructor(bytes: Uint8Array, [start, end]: Piece) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
  }

  get hasMore(): boolean {
    return this.#at < this.#end
  }

  next(): number {
    let byte = this.#bytes[this.#at++] as number
    if (byte < 0x80) return byte
    let value = byte & 0x7f
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = this.#bytes[this.#at++] as number
      value |= (byte & 0x7f) << shift
    }
    return value
  }
}
