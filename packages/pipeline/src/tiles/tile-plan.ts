import type { SimulationMetadata } from '../contracts/tick.ts'
import { EnvironmentError } from '../environment/errors.ts'
import { EnvironmentProperties } from '../environment/properties.ts'
import { type Span, spansOf } from '../environment/spans.ts'
import type { Region } from '../reading/run-index.ts'
import { ranksOf } from './telling.ts'

/** What a pixel of a tile shows of its cell: the molecule type, its value, or the id or lineage of its owner. */
export type TilePlane = 'type' | 'value' | 'owner' | 'lineage'
/** Which of several cells a pixel shows: the most telling one, the largest number, or the mean of the numbers. */
export type TileReduction = 'telling' | 'max' | 'mean'

/** The requested picture of a part of the world. */
export type TileRequest = {
  /** Part of the world (default: all of the first two dimensions, the others at 0). At most two dimensions may extend. */
  readonly region?: Region
  /** Maximum width and height in pixels. A pixel is never less than a cell. */
  readonly size: { readonly width: number; readonly height: number }
  /** What a pixel shows. */
  readonly plane: TilePlane
  /** Which of several cells it shows. */
  readonly reduce: TileReduction
  /** On a torus: a region may cross the edges, and have coordinates beyond them. */
  readonly wrap?: boolean
  /** Scales both directions alike, for pictures. */
  readonly keepAspect?: boolean
}

/** A part of one dimension, and the pixels it is drawn on. */
export type TileAxis = {
  /** Distance in flat indexes between neighbours. */
  readonly stride: number
  /** Cells of the whole dimension. */
  readonly length: number
  /** First cell of the part. */
  readonly from: number
  /** Cells of the part. */
  readonly cells: number
  /** Pixels of the part. */
  readonly pixels: number
}

/** How a tile is rendered: plain data, so that it can be sent to a thread. */
export type TilePlan = {
  /** Dimension across. */
  readonly x: TileAxis
  /** A world of one dimension is a single row. */
  readonly y: TileAxis
  /** Other dimensions, with one coordinate each. */
  readonly fixed: readonly TileAxis[]
  /** Number of cells of the world. */
  readonly worldSize: number
  /** Significance of each molecule type; 0: none. */
  readonly ranks: readonly number[]
  /** What a pixel shows. */
  readonly plane: TilePlane
  /** Which of several cells it shows. */
  readonly reduce: TileReduction
}

/**
 * Checks a request against the world. Throws an `EnvironmentError` that says what is wrong with the region.
 *
 * @example
 * const plan = planTile(metadata, { size: { width: 512, height: 512 }, plane: 'type', reduce: 'telling' })
 */
export function planTile({ environment, moleculeTypes }: SimulationMetadata, request: TileRequest): TilePlan {
  requireReducible(request)
  const world = new EnvironmentProperties(environment)
  const spans = spansOf(world, request.region ?? firstPlane(world), request.wrap)
  const [axisX, axisY] = extended(spans)
  const axes = spans.map(({ from, cells }, axis): TileAxis => {
    return { stride: world.strides[axis] ?? 1, length: world.shape[axis] ?? 1, from, cells, pixels: 1 }
  })
  const x = axes[axisX] ?? ONE_ROW
  const y = axisY === undefined ? ONE_ROW : (axes[axisY] ?? ONE_ROW)
  const pixels = pixelsOf(x, y, request)
  return {
    x: { ...x, pixels: pixels.width },
    y: { ...y, pixels: pixels.height },
    fixed: axes.filter((_, axis) => axis !== axisX && axis !== axisY),
    worldSize: world.size,
    ranks: ranksOf(moleculeTypes),
    plane: request.plane,
    reduce: request.reduce,
  }
}

/** Numbers of types, organisms and lineages are names: they have no mean. */
function requireReducible({ plane, reduce }: TileRequest): void {
  const allowed =
    plane === 'value' ? ['telling', 'max', 'mean'] : plane === 'lineage' ? ['telling'] : ['telling', 'max']
  if (allowed.includes(reduce)) return
  throw new EnvironmentError(`The plane '${plane}' can't be reduced by '${reduce}'; allowed: ${allowed.join(', ')}`)
}

/** Any index divided by this is 0. */
const ONE_ROW: TileAxis = { stride: 2 ** 31, length: 1, from: 0, cells: 1, pixels: 1 }

/** All of the first two dimensions, and 0 in the others. */
const firstPlane = ({ shape }: EnvironmentProperties): Region => ({
  from: shape.map(() => 0),
  to: shape.map((length, axis) => (axis < 2 ? length - 1 : 0)),
})

/** The dimensions that are drawn: those that extend, and the lowest others if there are fewer than two. */
function extended(spans: readonly Span[]): readonly [x: number, y: number | undefined] {
  const wide = [...spans.keys()].filter(axis => (spans[axis]?.cells ?? 1) > 1)
  if (wide.length > 2) {
    throw new EnvironmentError(
      `The region extends in ${wide.length} dimensions (${wide.join(', ')}); a tile has two. Give the others one coordinate each`,
    )
  }
  const rest = [...spans.keys()].filter(axis => !wide.includes(axis))
  const [x = 0, y] = [...wide, ...rest].slice(0, 2).sort((a, b) => a - b)
  return [x, y]
}

function pixelsOf(x: TileAxis, y: TileAxis, { size, keepAspect = false }: TileRequest): TileRequest['size'] {
  if (!keepAspect) return { width: Math.min(size.width, x.cells), height: Math.min(size.height, y.cells) }
  const scale = Math.min(1, size.width / x.cells, size.height / y.cells)
  return { width: Math.max(1, Math.floor(x.cells * scale)), height: Math.max(1, Math.floor(y.cells * scale)) }
}
