import { decodeColumns } from '../contracts/cell-codec.ts'
import { DEFAULT_LIMITS } from '../contracts/limits.ts'
import type { Cells } from '../contracts/tick.ts'
import { type PackedBytes, unpack } from '../databases/packing.ts'
import { ContractError } from '../errors.ts'
import { rankOf } from './telling.ts'
import type { TileAxis, TilePlan } from './tile-plan.ts'

/** Pixels of a tile, row by row; 0 is an empty one. Types have one byte each (255: 255 or more), all others four. */
export type TilePixels = Uint8Array | Int32Array

/** Decompresses and decodes only what the plane needs. Throws if the bytes are not a tick of this world. */
export function makeTile({ bytes }: PackedBytes, plan: TilePlan): TilePixels {
  const { plane, reduce } = plan
  const isOwner = plane === 'owner' || plane === 'lineage'
  const cells = decodeColumns(
    unpack(bytes, DEFAULT_LIMITS.maxTickBytes, 'a tick'),
    { value: plane === 'value', owner: isOwner },
    DEFAULT_LIMITS,
  )
  const last = cells.flatIndex.at(-1) ?? -1
  if (last >= plan.worldSize) {
    throw new ContractError('CellStateList', `a cell is at ${last}, and the world has ${plan.worldSize} cells`)
  }
  const numbers = plane === 'type' ? cells.moleculeType : plane === 'value' ? cells.moleculeValue : cells.ownerId
  const places = placesOf(cells, plan)
  const pixels = plan.x.pixels * plan.y.pixels
  if (reduce === 'telling') return toPixels(telling(cells, numbers, places, pixels, plan.ranks), plane)
  if (reduce === 'max') return toPixels(largest(cells, numbers, places, pixels), plane)
  return toPixels(mean(cells, numbers, places, pixels), plane)
}

function toPixels(numbers: Int32Array, plane: TilePlan['plane']): TilePixels {
  if (plane !== 'type') return numbers
  const bytes = new Uint8Array(numbers.length)
  for (let at = 0; at < numbers.length; at++) bytes[at] = Math.min(255, numbers[at] as number)
  return bytes
}

/** The pixel of each cell, or -1. No object is created per cell: there are up to millions. */
function placesOf({ flatIndex }: Cells, { x, y, fixed }: TilePlan): Int32Array {
  const places = new Int32Array(flatIndex.length)
  for (let slot = 0; slot < flatIndex.length; slot++) {
    const flat = flatIndex[slot] as number
    const column = pixelOf(flat, x)
    const row = column < 0 ? -1 : pixelOf(flat, y)
    places[slot] = row < 0 ? -1 : row * x.pixels + column
  }
  for (const axis of fixed) {
    for (let slot = 0; slot < places.length; slot++) {
      if ((places[slot] as number) >= 0 && pixelOf(flatIndex[slot] as number, axis) < 0) places[slot] = -1
    }
  }
  return places
}

/** Where a flat index is drawn along a dimension; -1: outside of the region. */
function pixelOf(flat: number, { stride, length, from, cells, pixels }: TileAxis): number {
  const coordinate = Math.floor(flat / stride) % length
  const offset = coordinate < from ? coordinate - from + length : coordinate - from
  if (offset >= cells) return -1
  return pixels === cells ? offset : Math.floor((offset * pixels) / cells)
}

function telling(
  { moleculeType }: Cells,
  numbers: Int32Array,
  places: Int32Array,
  pixels: number,
  ranks: readonly number[],
): Int32Array {
  const found = new Int32Array(pixels)
  const best = new Uint16Array(pixels)
  for (let slot = 0; slot < places.length; slot++) {
    const at = places[slot] as number
    if (at < 0) continue
    const type = moleculeType[slot] as number
    const rank = ranks[type] ?? rankOf(type)
    if (rank <= (best[at] as number)) continue
    best[at] = rank
    found[at] = numbers[slot] as number
  }
  return found
}

function largest({ moleculeType }: Cells, numbers: Int32Array, places: Int32Array, pixels: number): Int32Array {
  const found = new Int32Array(pixels)
  const isSet = new Uint8Array(pixels)
  for (let slot = 0; slot < places.length; slot++) {
    const at = places[slot] as number
    if (at < 0 || moleculeType[slot] === 0) continue
    const number = numbers[slot] as number
    if (isSet[at] === 1 && number <= (found[at] as number)) continue
    isSet[at] = 1
    found[at] = number
  }
  return found
}

/** Mean of the cells that are not empty, rounded. */
function mean({ moleculeType }: Cells, numbers: Int32Array, places: Int32Array, pixels: number): Int32Array {
  const sums = new Float64Array(pixels)
  const counts = new Uint32Array(pixels)
  for (let slot = 0; slot < places.length; slot++) {
    const at = places[slot] as number
    if (at < 0 || moleculeType[slot] === 0) continue
    sums[at] = (sums[at] as number) + (numbers[slot] as number)
    counts[at] = (counts[at] as number) + 1
  }
  return Int32Array.from(sums, (sum, at) => Math.round(sum / Math.max(1, counts[at] as number)))
}

/** The distinct numbers except 0. */
export function distinct(pixels: TilePixels): Int32Array {
  const found = new Set<number>()
  let last = 0
  for (const number of pixels) {
    if (number !== last) found.add(number)
    last = number
  }
  found.delete(0)
  return Int32Array.from(found)
}

/** In place: each number is replaced by its counterpart, or 0. */
export function replaceNumbers(pixels: TilePixels, from: Int32Array, to: Int32Array): void {
  const counterpart = new Map<number, number>()
  for (let at = 0; at < from.length; at++) counterpart.set(from[at] as number, to[at] as number)
  for (let at = 0; at < pixels.length; at++) {
    const number = pixels[at] as number
    if (number !== 0) pixels[at] = counterpart.get(number) ?? 0
  }
}
