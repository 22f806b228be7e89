import { type Cells, type CellsDifference, Turns } from '@tidemark/pipeline'

/** Cells encoded between two readings of the clock. */
const SLICE = 4_096
const NAMES = ['flatIndex', 'moleculeType', 'moleculeValue', 'ownerId'] as const

export type CellBounds = {
  /** Cells up to this flat index were already sent; -1: none. */
  readonly after: number
  readonly maxCells: number
  readonly maxBytes: number
}

export type EncodedColumns = {
  /** The columns as the fields of a JSON object, without its braces. */
  readonly text: string
  /** The last flat index, if there are more cells after it; null: these were all. */
  readonly next: number | null
}

/** Encodes as many cells as fit, slice by slice: a million of them at once blocked the server for half a second. */
export async function encodeColumns(cells: Cells, { after, maxCells, maxBytes }: CellBounds): Promise<EncodedColumns> {
  const turns = new Turns()
  const columns = NAMES.map((): string[] => [])
  const { flatIndex } = cells
  const first = after < 0 ? 0 : firstAbove(flatIndex, after)
  const end = Math.min(flatIndex.length, first + maxCells)
  let at = first
  for (let bytes = 0; at < end; ) {
    await turns.pass()
    const upTo = Math.min(end, at + SLICE)
    const slices = NAMES.map(name => cells[name].subarray(at, upTo).join(','))
    bytes += slices.reduce((sum, slice) => sum + slice.length + 1, 0)
    if (at > first && bytes > maxBytes) break
    for (const [column, slice] of slices.entries()) columns[column]?.push(slice)
    at = upTo
  }
  const text = NAMES.map((name, column) => `"${name}":[${columns[column]?.join(',')}]`).join(',')
  return { text, next: at < flatIndex.length && at > first ? (flatIndex[at - 1] ?? null) : null }
}

/** The maximum length of a cell: four numbers of eleven characters, each with its comma. */
const LARGEST_CELL = 48

/** Set and emptied cells up to one flat index, so that one position is enough to continue from. */
export async function encodeDifference({ set, emptied }: CellsDifference, bounds: CellBounds): Promise<string> {
  const { after, maxCells, maxBytes } = bounds
  const most = Math.max(1, Math.min(maxCells, Math.floor(maxBytes / LARGEST_CELL)))
  const firstSet = firstAbove(set.flatIndex, after)
  const firstEmptied = firstAbove(emptied, after)
  let [endSet, endEmptied] = [set.flatIndex.length, emptied.length]
  let next: number | null = null
  if (endSet - firstSet + endEmptied - firstEmptied > most) {
    next = placeAfter(set.flatIndex, firstSet, emptied, firstEmptied, most)
    endSet = firstAbove(set.flatIndex, next)
    endEmptied = firstAbove(emptied, next)
  }
  const { text } = await encodeColumns(cellsUpTo(set, endSet), {
    after,
    maxCells: most,
    maxBytes: Number.POSITIVE_INFINITY,
  })
  return `{"set":{${text}},"emptied":[${emptied.subarray(firstEmptied, endEmptied).join(',')}],"next":${next}}`
}

const cellsUpTo = (cells: Cells, end: number): Cells => ({
  flatIndex: cells.flatIndex.subarray(0, end),
  moleculeType: cells.moleculeType.subarray(0, end),
  moleculeValue: cells.moleculeValue.subarray(0, end),
  ownerId: cells.ownerId.subarray(0, end),
})

/** The flat index of the last of the first `most` cells of both lists together. */
function placeAfter(one: Int32Array, atOne: number, other: Int32Array, atOther: number, most: number): number {
  let [i, j, last] = [atOne, atOther, -1]
  for (let taken = 0; taken < most; taken++) {
    const isOne = j >= other.length || (i < one.length && (one[i] ?? 0) < (other[j] ?? 0))
    last = (isOne ? one[i++] : other[j++]) ?? last
  }
  return last
}

/** Flat indexes are in ascending order. */
function firstAbove(flatIndex: ArrayLike<number>, value: number): number {
  let low = 0
  let high = flatIndex.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((flatIndex[middle] ?? 0) <= value) low = middle + 1
    else high = middle
  }
  return low
}
