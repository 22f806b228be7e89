/**
 * Converts CellStateList directly between typed arrays and bytes. Generated code managed 3400 ticks per second of 5000
 * cells; a simulation produces more than that.
 *
 * Column by column, each in one pass. Decoding is strict, so that the same cells always have the same bytes: columns of
 * equal length, ascending indexes, shortest varints.
 */
import { ContractError, LimitError } from '../errors.ts'
import { notAscending, requireNatural, TYPE } from './cell-checks.ts'
import { countVarints, findColumns, PLAIN, readColumn, readSlots, ZIGZAG } from './cell-column-reading.ts'
import { writeColumn, writeDistances, writeNaturals, writeZigzag } from './cell-column-writing.ts'
import type { ContractLimits } from './limits.ts'
import type { Cells } from './tick.ts'
import { WireWriter } from './wire-writer.ts'

const FLAT_INDEX = 1
const MOLECULE_TYPE = 2
const MOLECULE_VALUE = 3
const OWNER_ID = 4

const scratchWriter = new WireWriter()

/**
 * Encodes cells as a CellStateList.
 *
 * @example
 * const bytes = encodeCells(cells)
 */
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

/**
 * Decodes a CellStateList into columns.
 *
 * @example
 * const { flatIndex, moleculeType } = decodeCells(bytes, DEFAULT_LIMITS)
 */
export function decodeCells(bytes: Uint8Array, limits: ContractLimits): Cells {
  return decodeColumns(bytes, { value: true, owner: true }, limits)
}

/**
 * The cells from one flat index to another, inclusive. Of the other columns only the corresponding part is decoded and
 * checked: a region that is a fifth of the world takes half the time of the whole.
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
function lowerBound(flatIndex: Int32Array, flat: number): number {
  let low = 0
  let high = flatIndex.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((flatIndex[middle] as number) < flat) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Number of cells of a CellStateList, without decoding it.
 *
 * @example
 * console.log(`${countCells(bytes)} cells`)
 */
export function countCells(bytes: Uint8Array): number {
  return countVarints(bytes, findColumns(bytes)[0])
}

/** Indexes and types, and of the other columns only the requested ones: a picture needs one. The others are empty. */
export function decodeColumns(
  bytes: Uint8Array,
  wanted: { readonly value: boolean; readonly owner: boolean },
  limits: ContractLimits,
): Cells {
  const [flatIndexParts, typeParts, valueParts, ownerParts] = findColumns(bytes)
  const count = countVarints(bytes, flatIndexParts)
  if (count > limits.maxCells) throw new LimitError(`Cells of a ${TYPE}`, 'maxCells', count, limits.maxCells)
  const cells = {
    flatIndex: readColumn(bytes, flatIndexParts, count, 'flat_index', PLAIN),
    moleculeType: readColumn(bytes, typeParts, count, 'molecule_type', PLAIN),
    moleculeValue: wanted.value ? readColumn(bytes, valueParts, count, 'molecule_value', ZIGZAG) : NO_COLUMN,
    ownerId: wanted.owner ? readColumn(bytes, ownerParts, count, 'owner_id', ZIGZAG) : NO_COLUMN,
  }
  fromDistances(cells.flatIndex)
  requireNatural(cells.moleculeType, 'molecule_type')
  return cells
}

const NO_COLUMN = new Int32Array(0)

/** This column alone, for callers that count. */
export function decodeMoleculeTypes(bytes: Uint8Array, limits: ContractLimits): Int32Array {
  const [flatIndexParts, typeParts] = findColumns(bytes)
  const count = countVarints(bytes, flatIndexParts)
  if (count > limits.maxCells) throw new LimitError(`Cells of a ${TYPE}`, 'maxCells', count, limits.maxCells)
  const types = readColumn(bytes, typeParts, count, 'molecule_type', PLAIN)
  requireNatural(types, 'molecule_type')
  return types
}

/** Reused for every verified tick, one column after the other; nothing in it is kept. */
let scratch = new Int32Array(0)

/** As strict as `decodeCells`, without keeping anything; also checks that no cell is beyond the world's last. */
export function verifyCells(bytes: Uint8Array, limits: ContractLimits, worldSize = 2 ** 31): void {
  const [flatIndexParts, typeParts, valueParts, ownerParts] = findColumns(bytes)
  const count = countVarints(bytes, flatIndexParts)
  if (count > limits.maxCells) throw new LimitError(`Cells of a ${TYPE}`, 'maxCells', count, limits.maxCells)
  if (scratch.length < count) scratch = new Int32Array(count)
  const column = scratch.subarray(0, count)
  readColumn(bytes, valueParts, count, 'molecule_value', ZIGZAG, column)
  readColumn(bytes, ownerParts, count, 'owner_id', ZIGZAG, column)
  readColumn(bytes, typeParts, count, 'molecule_type', PLAIN, column)
  requireNatural(column, 'molecule_type')
  readColumn(bytes, flatIndexParts, count, 'flat_index', PLAIN, column)
  fromDistances(column)
  const last = column[count - 1] ?? -1
  if (last < worldSize) return
  const range = `the world has ${worldSize} cells, 0 to ${worldSize - 1}`
  throw new ContractError(TYPE, `flat_index of cell ${count - 1} is ${last}, beyond the world: ${range}`)
}

/** In place. A negative value was beyond 2^31 - 1 on the wire, or overflowed in the sum. */
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
