/** Decodes packed varints to integers, a column in one pass. */
import { ContractError } from '../errors.ts'
import { TYPE } from './cell-checks.ts'
import { DELIMITED, VARINT, WireReader } from './wire-reader.ts'

const COLUMNS = ['flat_index', 'molecule_type', 'molecule_value', 'owner_id'] as const
const LONGEST_VARINT = 5
const HIGH_BITS = 0x80808080 | 0

/** Start and end of each piece of a column, alternating: protobuf allows a packed field in several pieces. */
type Pieces = number[]

export function findColumns(bytes: Uint8Array): readonly [Pieces, Pieces, Pieces, Pieces] {
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

export function countVarints(bytes: Uint8Array, pieces: Pieces): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = 0
  for (let piece = 0; piece < pieces.length; piece += 2) {
    const end = pieces[piece + 1] as number
    let at = pieces[piece] as number
    // A number ends with each byte below 0x80, and most words contain four of them.
    for (; at + 3 < end; at += 4) count += 4 - bitsOf(view.getInt32(at, true) & HIGH_BITS)
    for (; at < end; at++) count += (bytes[at] as number) < 0x80 ? 1 : 0
  }
  return count
}

/** One formula for both, so that one loop reads all columns: `(value >>> sign) ^ -(value & sign)`. */
type Sign = 0 | 1
export const PLAIN: Sign = 0
export const ZIGZAG: Sign = 1
const toSigned = (value: number, sign: Sign): number => (value >>> sign) ^ -(value & sign)

/** Number of set bits among the four that HIGH_BITS leaves. */
const bitsOf = (word: number): number => (word === 0 ? 0 : Math.imul(word >>> 7, 0x01010101) >>> 24)

/** Offset of the number after `count` others; `end` if there are fewer. */
function skipVarints(bytes: Uint8Array, start: number, end: number, count: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let left = count
  let at = start
  for (; left >= 4 && at + 3 < end; at += 4) left -= 4 - bitsOf(view.getInt32(at, true) & HIGH_BITS)
  for (; left > 0 && at < end; at++) left -= (bytes[at] as number) < 0x80 ? 1 : 0
  return at
}

/** These slots of a column, skipping what is before and after them. */
export function readSlots(
  bytes: Uint8Array,
  pieces: Pieces,
  from: number,
  to: number,
  name: string,
  sign: Sign,
): Int32Array {
  const [start, end] = pieces
  // In practice nobody writes a column in pieces, so this need not be fast.
  if (pieces.length !== 2 || start === undefined || end === undefined) {
    return readColumn(bytes, pieces, countVarints(bytes, pieces), name, sign).slice(from, to)
  }
  const begin = skipVarints(bytes, start, end, from)
  return readColumn(bytes, [begin, skipVarints(bytes, begin, end, to - from)], to - from, name, sign)
}

export function readColumn(
  bytes: Uint8Array,
  pieces: Pieces,
  count: number,
  name: string,
  sign: Sign,
  column = new Int32Array(count),
): Int32Array {
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
    // As in writing: four at a time if each is one byte, and without a branch between one byte and two.
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

/** Any varint of 32 bits, only in its shortest form, so that its size follows from its value. */
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
