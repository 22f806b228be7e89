import { type PlaneChoice, sizeOf } from './plane.ts'

/**
 * Smaller worlds come as whole ticks, which the server sends as they are stored: ten of 1000 × 1000 took it 8 ms of processor
 * time. For planes it unpacks, decodes, compares and compresses each tick three times: 900 ms. Larger worlds come as planes,
 * since those are reduced to what can be shown.
 */
const MOST_WHOLE_CELLS = 2 ** 20
/** Pixels along a side: larger worlds are reduced. */
const MOST_SIDE = 1024

/** How the cells of a world are asked for. */
export type Source =
  | { readonly kind: 'whole' }
  /** `tile` is the query of a tile or of frames, without the plane. */
  | { readonly kind: 'planes'; readonly tile: string }

export function sourceOf(shape: readonly number[], plane: PlaneChoice): Source {
  const { width, height } = sizeOf(shape, plane)
  const { x, y } = plane
  // A tile has the lower axis across.
  if (y === undefined || x > y || width * height <= MOST_WHOLE_CELLS) return { kind: 'whole' }
  const corner = (end: boolean): string =>
    shape
      .map((length, axis) => (axis === x || axis === y ? (end ? length - 1 : 0) : (plane.fixed[axis] ?? 0)))
      .join(',')
  // The same whole number of cells to every pixel, both ways: otherwise the picture has stripes.
  const step = Math.ceil(Math.max(width, height) / MOST_SIDE)
  const size = `${Math.ceil(width / step)},${Math.ceil(height / step)}`
  const query = new URLSearchParams({ size, region: `${corner(false)}:${corner(true)}` })
  return { kind: 'planes', tile: String(query) }
}
