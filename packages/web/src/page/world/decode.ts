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
  const { type, value, owner } = frame
  const isFlat = shape.length <= 2 && plane.x === 0
  let [[flatAt, flatEnd], [typeAt, typeEnd], [valueAt, valueEnd], [ownerAt, ownerEnd]] = findColumns(bytes)
  let position = 0
  while (flatAt < flatEnd) {
    position += varint(bytes, flatAt)
    flatAt = end
    const ofType = typeAt < typeEnd ? varint(bytes, typeAt) : none(typeAt)
    typeAt = end
    const ofValue = valueAt < valueEnd ? varint(bytes, valueAt) : none(valueAt)
    valueAt = end
    const ofOwner = ownerAt < ownerEnd ? varint(bytes, ownerAt) : none(ownerAt)
    ownerAt = end
    const at = isFlat ? position : placeIn(position, shape, plane, width)
    if (at < 0) continue
    type[at] = Math.min(255, ofType)
    value[at] = unzigzag(ofValue)
    owner[at] = unzigzag(ofOwner)
  }
  return frame
}

/** Where the number that was read last ends. An object per column instead took half as long again. */
let end = 0

function varint(bytes: Uint8Array, at: number): number {
  let next = at
  let byte = bytes[next++] as number
  let value = byte & 0x7f
  for (let shift = 7; byte >= 0x80; shift += 7) {
    byte = bytes[next++] as number
    value |= (byte & 0x7f) << shift
  }
  end = next
  return value
}

/** A column may be left out, or end early: the rest of its numbers are 0. */
function none(at: number): number {
  end = at
  return 0
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
const NONE: Piece = [0, 0]

function findColumns(bytes: Uint8Array): [Piece, Piece, Piece, Piece] {
  const columns: [Piece, Piece, Piece, Piece] = [NONE, NONE, NONE, NONE]
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at] as number
    if ((tag & 7) !== 2) throw new Error('The server sent cells that this page cannot read')
    const length = varint(bytes, at + 1)
    at = end + length
    columns[(tag >> 3) - 1] = [end, at]
  }
  return columns
}
