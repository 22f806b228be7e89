/**
 * CellStateList straight between typed arrays and bytes. Generated code made 3400 ticks a second of 5000 cells; a
 * simulation makes more than that.
 *
 * Column by column: an arithmetic pass over the integers (distances, zigzag), then one pass of varints. Decoding is
 * strict, so that the same cells always are the same bytes: columns of one length, ascending indexes, shortest varints.
 */
import { ContractError, LimitError } from '../errors.ts'
import type { ContractLimits } from './limits.ts'
import type { Cells } from './tick.ts'
import { DELIMITED, tagOf, VARINT, WireReader } from './wire-reader.ts'
import { WireWriter } from './wire-writer.ts'

const TYPE = 'CellStateList'
const FLAT_INDEX = 1
const MOLECULE_TYPE = 2
const MOLECULE_VALUE = 3
const OWNER_ID = 4
const COLUMNS = ['flat_index', 'molecule_type', 'molecule_value', 'owner_id'] as const
const LONGEST_VARINT = 5

const scratchWriter = new WireWriter()
let scratchColumn = new Int32Array(16 * 1024)

export function encodeCells(cells: Cells): Uint8Array<ArrayBuffer> {
  scratchWriter.at = 0
  writeCells(scratchWriter, cells)
  return scratchWriter.take()
}

export function writeCells(writer: WireWriter, cells: Cells): void {
  const { flatIndex, moleculeType, moleculeValue, ownerId } = cells
  const count = flatIndex.length
  for (const [name, column] of Object.entries({ moleculeType, moleculeValue, ownerId })) {
    if (column.length === count) continue
    throw new ContractError(TYPE, `${name} has ${column.length} cells and flatIndex has ${count}`)
  }
  if (count === 0) return
  if (scratchColumn.length < count) scratchColumn = new Int32Array(count * 2)
  toDistances(flatIndex, scratchColumn)
  writeColumn(writer, FLAT_INDEX, scratchColumn, count)
  requireNatural(moleculeType, 'moleculeType')
  writeColumn(writer, MOLECULE_TYPE, moleculeType, count)
  toZigzag(moleculeValue, scratchColumn)
  writeColumn(writer, MOLECULE_VALUE, scratchColumn, count)
  toZigzag(ownerId, scratchColumn)
  writeColumn(writer, OWNER_ID, scratchColumn, count)
}

export function decodeCells(bytes: Uint8Array, limits: ContractLimits): Cells {
  const [flatIndexParts, typeParts, valueParts, ownerParts] = findColumns(bytes)
  const count = countVarints(bytes, flatIndexParts)
  if (count > limits.maxCells) throw new LimitError(`Cells of a ${TYPE}`, 'maxCells', count, limits.maxCells)
  const cells = {
    flatIndex: readColumn(bytes, flatIndexParts, count, 'flat_index'),
    moleculeType: readColumn(bytes, typeParts, count, 'molecule_type'),
    moleculeValue: readColumn(bytes, valueParts, count, 'molecule_value'),
    ownerId: readColumn(bytes, ownerParts, count, 'owner_id'),
  }
  fromDistances(cells.flatIndex)
  requireNatural(cells.moleculeType, 'molecule_type')
  fromZigzag(cells.moleculeValue)
  fromZigzag(cells.ownerId)
  return cells
}

/** How many cells there are, without decoding them. */
export function countCells(bytes: Uint8Array): number {
  return countVarints(bytes, findColumns(bytes)[0])
}

/** The one column alone, for those who count. */
export function decodeMoleculeTypes(bytes: Uint8Array, limits: ContractLimits): Int32Array {
  const [flatIndexParts, typeParts] = findColumns(bytes)
  const count = countVarints(bytes, flatIndexParts)
  if (count > limits.maxCells) throw new LimitError(`Cells of a ${TYPE}`, 'maxCells', count, limits.maxCells)
  const types = readColumn(bytes, typeParts, count, 'molecule_type')
  requireNatural(types, 'molecule_type')
  return types
}

function toDistances(indexes: Int32Array, out: Int32Array): void {
  let previous = -1
  for (let slot = 0; slot < indexes.length; slot++) {
    const index = indexes[slot] as number
    if (index <= previous) throw notAscending('flatIndex', slot, index)
    out[slot] = index - previous
    previous = index
  }
  // The first one is no distance.
  out[0] = indexes[0] as number
}

/** In place. Whatever is negative here was beyond 2^31 - 1 on the wire, or became so by adding up. */
function fromDistances(column: Int32Array): void {
  let index = column.length === 0 ? 0 : (column[0] as number)
  if (index < 0) throw notAscending('flat_index', 0, index)
  for (let slot = 1; slot < column.length; slot++) {
    const distance = column[slot] as number
    const next = (index + distance) | 0
    if (distance <= 0 || next < 0) throw notAscending('flat_index', slot, index + distance)
    index = next
    column[slot] = next
  }
}

function notAscending(name: string, slot: number, index: number): ContractError {
  return new ContractError(
    TYPE,
    `${name} of cell ${slot} is ${index}; it must be greater than the one before and within 0 to 2147483647`,
  )
}

function toZigzag(values: Int32Array, out: Int32Array): void {
  for (let slot = 0; slot < values.length; slot++) {
    const value = values[slot] as number
    out[slot] = (value << 1) ^ (value >> 31)
  }
}

function fromZigzag(column: Int32Array): void {
  for (let slot = 0; slot < column.length; slot++) {
    const value = column[slot] as number
    column[slot] = (value >>> 1) ^ -(value & 1)
  }
}

function requireNatural(column: Int32Array, name: string): void {
  for (let slot = 0; slot < column.length; slot++) {
    if ((column[slot] as number) >= 0) continue
    throw notNatural(name, slot)
  }
}

function notNatural(name: string, slot: number): ContractError {
  return new ContractError(TYPE, `${name} of cell ${slot} is not within 0 to 2147483647`)
}

function writeColumn(writer: WireWriter, field: number, column: Int32Array, count: number): void {
  writer.delimited(tagOf(field, DELIMITED), count, () => {
    writer.reserve(count * LONGEST_VARINT)
    writer.at = writeVarints(column, count, writer.bytes, writer.view, writer.at)
  })
}

/**
 * Four at a time: as one word where each is one byte, and without a branch between one byte and two where none has
 * more, because which it is is chance. One and a half to two times as fast as byte by byte.
 */
function writeVarints(column: Int32Array, count: number, bytes: Uint8Array, view: DataView, start: number): number {
  let at = start
  let slot = 0
  for (; slot + 3 < count; slot += 4) {
    const a = column[slot] as number
    const b = column[slot + 1] as number
    const c = column[slot + 2] as number
    const d = column[slot + 3] as number
    const all = a | b | c | d
    if ((all & ~0x7f) === 0) {
      view.setInt32(at, a | (b << 8) | (c << 16) | (d << 24), true)
      at += 4
    } else if ((all & ~0x3fff) === 0) {
      at = writeShortVarint(a, bytes, at)
      at = writeShortVarint(b, bytes, at)
      at = writeShortVarint(c, bytes, at)
      at = writeShortVarint(d, bytes, at)
    } else {
      for (let each = slot; each < slot + 4; each++) at = writeLongVarint(column[each] as number, bytes, at)
    }
  }
  for (; slot < count; slot++) at = writeLongVarint(column[slot] as number, bytes, at)
  return at
}

/** One or two bytes. Both are written; the next number overwrites the second where it was too many. */
function writeShortVarint(value: number, bytes: Uint8Array, at: number): number {
  const more = (0x7f - value) >>> 31
  bytes[at] = (value & 0x7f) | (more << 7)
  bytes[at + 1] = value >>> 7
  return at + 1 + more
}

function writeLongVarint(value: number, bytes: Uint8Array, start: number): number {
  let at = start
  let rest = value
  while ((rest & ~0x7f) !== 0) {
    bytes[at++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  bytes[at++] = rest
  return at
}

/** Start and end of each piece of a column, one after the other: protobuf allows a packed field in several pieces. */
type Pieces = number[]

function findColumns(bytes: Uint8Array): readonly [Pieces, Pieces, Pieces, Pieces] {
  const columns = [[], [], [], []] as [Pieces, Pieces, Pieces, Pieces]
  const reader = new WireReader(TYPE, bytes)
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    const pieces = columns[(tag >>> 3) - 1]
    if (pieces === undefined) {
      reader.skip(tag)
    } else if ((tag & 7) === DELIMITED) {
      const { start, end } = reader.delimited()
      pieces.push(start, end)
    } else if ((tag & 7) === VARINT) {
      const start = reader.at
      reader.skip(tag)
      pieces.push(start, reader.at)
    } else {
      throw reader.error(`${COLUMNS[(tag >>> 3) - 1]} has wire type ${tag & 7}`)
    }
  }
  return columns
}

function countVarints(bytes: Uint8Array, pieces: Pieces): number {
  let count = 0
  for (let piece = 0; piece < pieces.length; piece += 2) {
    const end = pieces[piece + 1] as number
    for (let at = pieces[piece] as number; at < end; at++) count += (bytes[at] as number) < 0x80 ? 1 : 0
  }
  return count
}

function readColumn(bytes: Uint8Array, pieces: Pieces, count: number, name: string): Int32Array {
  const column = new Int32Array(count)
  let slot = 0
  for (let piece = 0; piece < pieces.length; piece += 2) {
    slot = readVarints(bytes, pieces[piece] as number, pieces[piece + 1] as number, column, slot, name)
  }
  if (slot !== count) throw new ContractError(TYPE, `${name} has ${slot} cells and flat_index has ${count}`)
  return column
}

function readVarints(
  bytes: Uint8Array,
  start: number,
  end: number,
  column: Int32Array,
  firstSlot: number,
  name: string,
): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let slot = firstSlot
  let at = start
  while (at < end) {
    // As in writing: four at a time where each is one byte, and no branch between one byte and two.
    while (at + 3 < end && slot + 3 < column.length) {
      const word = view.getInt32(at, true)
      if ((word & 0x80808080) === 0) {
        column[slot] = word & 0x7f
        column[slot + 1] = (word >> 8) & 0x7f
        column[slot + 2] = (word >> 16) & 0x7f
        column[slot + 3] = word >> 24
        slot += 4
        at += 4
        continue
      }
      const first = word & 0xff
      const second = (word >> 8) & 0xff
      const more = first >>> 7
      if (more !== 0 && (second >= 0x80 || second === 0)) break
      column[slot++] = (first & 0x7f) | ((second & -more) << 7)
      at += 1 + more
    }
    if (at === end) break
    if (slot === column.length) {
      throw new ContractError(TYPE, `${name} has more cells than flat_index, which has ${column.length}`)
    }
    const value = readLongVarint(bytes, at, end, name, slot)
    column[slot++] = value
    at += sizeOfVarint(value)
  }
  return slot
}

/** Any varint of 32 bits, in its shortest form and no other, so that its size follows from its value. */
function readLongVarint(bytes: Uint8Array, start: number, end: number, name: string, slot: number): number {
  let value = 0
  for (let size = 1; size <= LONGEST_VARINT; size++) {
    if (start + size > end) throw new ContractError(TYPE, `${name} ends within cell ${slot}`)
    const byte = bytes[start + size - 1] as number
    value |= (byte & 0x7f) << (7 * (size - 1))
    if (byte >= 0x80) continue
    // A last byte of 0 adds nothing; the fifth byte has room for four bits.
    if ((byte === 0 && size > 1) || (size === LONGEST_VARINT && byte > 0x0f)) break
    return value
  }
  throw new ContractError(TYPE, `${name} of cell ${slot} is not a 32-bit number in its shortest form`)
}

function sizeOfVarint(value: number): number {
  let size = 1
  for (let rest = value >>> 7; rest !== 0; rest >>>= 7) size++
  return size
}
