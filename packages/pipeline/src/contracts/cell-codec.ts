/**
 * CellStateList straight between typed arrays and bytes. Generated code made 3400 ticks a second of 5000 cells; a
 * simulation makes more than that.
 *
 * Column by column, each in one pass. Decoding is strict, so that the same cells always are the same bytes: columns of one
 * length, ascending indexes, shortest varints.
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
const HIGH_BITS = 0x80808080 | 0

const scratchWriter = new WireWriter()

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
  writeColumn(writer, FLAT_INDEX, flatIndex, writeDistances)
  writeColumn(writer, MOLECULE_TYPE, moleculeType, writeNaturals)
  writeColumn(writer, MOLECULE_VALUE, moleculeValue, writeZigzag)
  writeColumn(writer, OWNER_ID, ownerId, writeZigzag)
}

export function decodeCells(bytes: Uint8Array, limits: ContractLimits): Cells {
  const [flatIndexParts, typeParts, valueParts, ownerParts] = findColumns(bytes)
  const count = countVarints(bytes, flatIndexParts)
  if (count > limits.maxCells) throw new LimitError(`Cells of a ${TYPE}`, 'maxCells', count, limits.maxCells)
  const cells = {
    flatIndex: readColumn(bytes, flatIndexParts, count, 'flat_index', PLAIN),
    moleculeType: readColumn(bytes, typeParts, count, 'molecule_type', PLAIN),
    moleculeValue: readColumn(bytes, valueParts, count, 'molecule_value', ZIGZAG),
    ownerId: readColumn(bytes, ownerParts, count, 'owner_id', ZIGZAG),
  }
  fromDistances(cells.flatIndex)
  requireNatural(cells.moleculeType, 'molecule_type')
  return cells
}

/**
 * The cells from one flat index to another, both included. Of the other columns only what belongs to them is decoded,
 * and checked: a region that is a fifth of the world takes half the time of the whole.
 */
export function decodeCellRange(bytes: Uint8Array, first: number, last: number, limits: ContractLimits): Cells {
  const [flatIndexParts, typeParts, valueParts, ownerParts] = findColumns(bytes)
  const count = countVarints(bytes, flatIndexParts)
  if (count > limits.maxCells) throw new LimitError(`Cells of a ${TYPE}`, 'maxCells', count, limits.maxCells)
  const all = readColumn(bytes, flatIndexParts, count, 'flat_index', PLAIN)
  fromDistances(all)
  const from = lowerBound(all, first)
  const to = lowerBound(all, last + 1)
  const cells = {
    flatIndex: all.slice(from, to),
    moleculeType: readSlots(bytes, typeParts, from, to, 'molecule_type', PLAIN),
    moleculeValue: readSlots(bytes, valueParts, from, to, 'molecule_value', ZIGZAG),
    ownerId: readSlots(bytes, ownerParts, from, to, 'owner_id', ZIGZAG),
  }
  requireNatural(cells.moleculeType, 'molecule_type')
  return cells
}

/** The first slot whose index is not below this one. */
export function lowerBound(flatIndex: Int32Array, flat: number): number {
  let low = 0
  let high = flatIndex.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((flatIndex[middle] as number) < flat) low = middle + 1
    else high = middle
  }
  return low
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
  const types = readColumn(bytes, typeParts, count, 'molecule_type', PLAIN)
  requireNatural(types, 'molecule_type')
  return types
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

function requireNatural(column: Int32Array, name: string): void {
  for (let slot = 0; slot < column.length; slot++) {
    if ((column[slot] as number) >= 0) continue
    throw notNatural(name, slot)
  }
}

function notNatural(name: string, slot: number): ContractError {
  return new ContractError(TYPE, `${name} of cell ${slot} is not within 0 to 2147483647`)
}

type WriteVarints = (column: Int32Array, bytes: Uint8Array, view: DataView, start: number) => number

function writeColumn(writer: WireWriter, field: number, column: Int32Array, write: WriteVarints): void {
  writer.delimited(tagOf(field, DELIMITED), column.length, () => {
    writer.reserve(column.length * LONGEST_VARINT)
    writer.at = write(column, writer.bytes, writer.view, writer.at)
  })
}

/** The first as it is, then the distances. Whatever is out of order shows in the sign of all together. */
function writeDistances(column: Int32Array, bytes: Uint8Array, view: DataView, start: number): number {
  let previous = column[0] as number
  let signs = previous
  let at = writeLongVarint(previous, bytes, start)
  let slot = 1
  for (; slot + 3 < column.length; slot += 4) {
    const a = column[slot] as number
    const b = column[slot + 1] as number
    const c = column[slot + 2] as number
    const d = column[slot + 3] as number
    const toA = (a - previous) | 0
    const toB = (b - a) | 0
    const toC = (c - b) | 0
    const toD = (d - c) | 0
    signs |= a | b | c | d | (toA - 1) | (toB - 1) | (toC - 1) | (toD - 1)
    at = writeFour(toA, toB, toC, toD, bytes, view, at)
    previous = d
  }
  for (; slot < column.length; slot++) {
    const index = column[slot] as number
    signs |= index | (index - previous - 1)
    at = writeLongVarint((index - previous) | 0, bytes, at)
    previous = index
  }
  if (signs < 0) throw firstNotAscending(column)
  return at
}

function writeNaturals(column: Int32Array, bytes: Uint8Array, view: DataView, start: number): number {
  let signs = 0
  let at = start
  let slot = 0
  for (; slot + 3 < column.length; slot += 4) {
    const a = column[slot] as number
    const b = column[slot + 1] as number
    const c = column[slot + 2] as number
    const d = column[slot + 3] as number
    signs |= a | b | c | d
    at = writeFour(a, b, c, d, bytes, view, at)
  }
  for (; slot < column.length; slot++) {
    signs |= column[slot] as number
    at = writeLongVarint(column[slot] as number, bytes, at)
  }
  if (signs < 0) requireNatural(column, 'moleculeType')
  return at
}

function writeZigzag(column: Int32Array, bytes: Uint8Array, view: DataView, start: number): number {
  let at = start
  let slot = 0
  for (; slot + 3 < column.length; slot += 4) {
    const a = column[slot] as number
    const b = column[slot + 1] as number
    const c = column[slot + 2] as number
    const d = column[slot + 3] as number
    at = writeFour(zigzag(a), zigzag(b), zigzag(c), zigzag(d), bytes, view, at)
  }
  for (; slot < column.length; slot++) at = writeLongVarint(zigzag(column[slot] as number), bytes, at)
  return at
}

const zigzag = (value: number): number => (value << 1) ^ (value >> 31)

function firstNotAscending(column: Int32Array): ContractError {
  const slot = column.findIndex((index, at) => index < 0 || (at > 0 && index <= (column[at - 1] as number)))
  return notAscending('flatIndex', slot, column[slot] as number)
}

/**
 * As one word where each is one byte, and without a branch between one byte and two where none has more, because which it
 * is is chance. One and a half to two times as fast as byte by byte.
 */
function writeFour(
  a: number,
  b: number,
  c: number,
  d: number,
  bytes: Uint8Array,
  view: DataView,
  start: number,
): number {
  const all = a | b | c | d
  if ((all & ~0x7f) === 0) {
    view.setInt32(start, a | (b << 8) | (c << 16) | (d << 24), true)
    return start + 4
  }
  let at = start
  if ((all & ~0x3fff) === 0) {
    at = writeShortVarint(a, bytes, at)
    at = writeShortVarint(b, bytes, at)
    at = writeShortVarint(c, bytes, at)
    return writeShortVarint(d, bytes, at)
  }
  at = writeLongVarint(a, bytes, at)
  at = writeLongVarint(b, bytes, at)
  at = writeLongVarint(c, bytes, at)
  return writeLongVarint(d, bytes, at)
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
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = 0
  for (let piece = 0; piece < pieces.length; piece += 2) {
    const end = pieces[piece + 1] as number
    let at = pieces[piece] as number
    // A number ends with each byte below 0x80, and most words have four of them.
    for (; at + 3 < end; at += 4) count += 4 - bitsOf(view.getInt32(at, true) & HIGH_BITS)
    for (; at < end; at++) count += (bytes[at] as number) < 0x80 ? 1 : 0
  }
  return count
}

/** One formula for both, so that one loop reads all columns: `(value >>> sign) ^ -(value & sign)`. */
type Sign = 0 | 1
const PLAIN: Sign = 0
const ZIGZAG: Sign = 1
const toSigned = (value: number, sign: Sign): number => (value >>> sign) ^ -(value & sign)

/** Of the four that HIGH_BITS leaves. */
const bitsOf = (word: number): number => (word === 0 ? 0 : Math.imul(word >>> 7, 0x01010101) >>> 24)

/** Where the number after so many others begins; `end` where there are fewer. */
function skipVarints(bytes: Uint8Array, start: number, end: number, count: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let left = count
  let at = start
  for (; left >= 4 && at + 3 < end; at += 4) left -= 4 - bitsOf(view.getInt32(at, true) & HIGH_BITS)
  for (; left > 0 && at < end; at++) left -= (bytes[at] as number) < 0x80 ? 1 : 0
  return at
}

/** These slots of a column, without what is before and behind them. */
function readSlots(bytes: Uint8Array, pieces: Pieces, from: number, to: number, name: string, sign: Sign): Int32Array {
  const [start, end] = pieces
  // Nobody writes a column in pieces, and then it need not be fast.
  if (pieces.length !== 2 || start === undefined || end === undefined) {
    return readColumn(bytes, pieces, countVarints(bytes, pieces), name, sign).slice(from, to)
  }
  const begin = skipVarints(bytes, start, end, from)
  return readColumn(bytes, [begin, skipVarints(bytes, begin, end, to - from)], to - from, name, sign)
}

function readColumn(bytes: Uint8Array, pieces: Pieces, count: number, name: string, sign: Sign): Int32Array {
  const column = new Int32Array(count)
  let slot = 0
  for (let piece = 0; piece < pieces.length; piece += 2) {
    slot = readVarints(bytes, pieces[piece] as number, pieces[piece + 1] as number, column, slot, name, sign)
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
  sign: Sign,
): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let slot = firstSlot
  let at = start
  while (at < end) {
    // As in writing: four at a time where each is one byte, and no branch between one byte and two.
    while (at + 3 < end && slot + 3 < column.length) {
      const word = view.getInt32(at, true)
      if ((word & 0x80808080) === 0) {
        column[slot] = toSigned(word & 0x7f, sign)
        column[slot + 1] = toSigned((word >> 8) & 0x7f, sign)
        column[slot + 2] = toSigned((word >> 16) & 0x7f, sign)
        column[slot + 3] = toSigned(word >> 24, sign)
        slot += 4
        at += 4
        continue
      }
      const first = word & 0xff
      const second = (word >> 8) & 0xff
      const more = first >>> 7
      if (more !== 0 && (second >= 0x80 || second === 0)) break
      column[slot++] = toSigned((first & 0x7f) | ((second & -more) << 7), sign)
      at += 1 + more
    }
    if (at === end) break
    if (slot === column.length) {
      throw new ContractError(TYPE, `${name} has more cells than flat_index, which has ${column.length}`)
    }
    const value = readLongVarint(bytes, at, end, name, slot)
    column[slot++] = toSigned(value, sign)
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
