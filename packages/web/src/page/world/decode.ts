import type { Frame, PlaneChoice } from './plane.ts'

/**
 * Decodes a CellStateList (protobuf): four packed columns, of which the first is delta-coded and the last two are
 * zigzag-coded. It runs in the worker on up to a million cells, so it creates no object per cell.
 */
export function decodeCells(bytes: Uint8Array, tick: number, shape: readonly number[], plane: PlaneChoice): Frame {
  const columns = findColumns(bytes)
  const flat = columns[0] ? readVarints(bytes, columns[0]) : new Int32Array(0)
  const types = columns[1] ? readVarints(bytes, columns[1]) : new Int32Array(flat.length)
  const values = columns[2] ? readVarints(bytes, columns[2]) : new Int32Array(flat.length)
  const owners = columns[3] ? readVarints(bytes, columns[3]) : new Int32Array(flat.length)
  const width = shape[plane.x] ?? 1
  const height = plane.y === undefined ? 1 : (shape[plane.y] ?? 1)
  const frame: Frame = {
    tick,
    width,
    height,
    type: new Uint8Array(width * height),
    value: new Int32Array(width * height),
    owner: new Int32Array(width * height),
  }
  const isFlat = shape.length <= 2 && plane.x === 0
  let position = 0
  for (let slot = 0; slot < flat.length; slot++) {
    position += flat[slot] as number
    const at = isFlat ? position : placeIn(position, shape, plane, width)
    if (at < 0) continue
    frame.type[at] = Math.min(255, types[slot] as number)
    frame.value[at] = unzigzag(values[slot] as number)
    frame.owner[at] = unzigzag(owners[slot] as number)
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

function readVarints(bytes: Uint8Array, [start, end]: Piece): Int32Array {
  let count = 0
  for (let at = start; at < end; at++) count += (bytes[at] as number) < 0x80 ? 1 : 0
  const values = new Int32Array(count)
  let slot = 0
  for (let at = start; at < end; ) {
    let byte = bytes[at++] as number
    let value = byte & 0x7f
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = bytes[at++] as number
      value |= (byte & 0x7f) << shift
    }
    values[slot++] = value
  }
  return values
}
