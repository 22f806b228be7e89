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

function toDistances(indexes: Int32Array, out: Int32Array): void {
  let previous = -1
  for (let slot = 0; slot < indexes.length; slot++) {
    const index = indexes[slot] as number
    if (index <= previous) throw notAscending('flatIndex', slot, index)
    out[slot] = slot === 0 ? index : index - previous
    previous = index
  }
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
    throw new ContractError(TYPE, `${name} of cell ${slot} is not within 0 to 2147483647`)
  }
}

function writeColumn(writer: WireWriter, field: number, column: Int32Array, count: number): void {
  writer.delimited(tagOf(field, DELIMITED), count, () => {
    writer.reserve(count * LONGEST_VARINT)
    writer.at = writeVarints(column, count, writer.bytes, writer.at)
  })
}

function writeVarints(column: Int32Array, count: number, bytes: Uint8Array, start: number): number {
  let at = start
  for (let slot = 0; slot < count; slot++) {
    let value = column[slot] as number
    while (value >>> 0 >= 0x80) {
      bytes[at++] = (value & 0x7f) | 0x80
      value >>>= 7
    }
    bytes[at++] = value
  }
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
  let slot = firstSlot
  let at = start
  const count = column.length
  while (at < end) {
    if (slot === count) throw new ContractError(TYPE, `${name} has more cells than flat_index, which has ${count}`)
    let byte = bytes[at++] as number
    let value = byte
    if (byte >= 0x80) {
      value &= 0x7f
      let shift = 0
      do {
        shift += 7
        if (at === end) throw new ContractError(TYPE, `${name} ends within cell ${slot}`)
        byte = bytes[at++] as number
        value |= (byte & 0x7f) << shift
      } while (byte >= 0x80 && shift < 28)
      // The fifth byte has room for four bits; a last byte of 0 adds nothing and is not how a number is written.
      if (byte === 0 || (shift === 28 && byte > 0x0f)) {
        throw new ContractError(TYPE, `${name} of cell ${slot} is not a 32-bit number in its shortest form`)
      }
    }
    column[slot++] = value
  }
  return slot
}
