import type { EnvironmentConfig } from '../contracts/tick.ts'
import type { Region } from '../reading/run-index.ts'
import { EnvironmentError } from './errors.ts'
import { EnvironmentProperties } from './properties.ts'

/** Part of a dimension. On a torus it may go on at the other edge. */
export type Span = { readonly from: number; readonly cells: number }

/**
 * Returns a function that tells whether coordinates are in a region. With `wrap`, the region may cross the edges of a torus.
 * Throws an `EnvironmentError` if the region is not one of this world.
 *
 * @example
 * const isInside = regionFilter({ shape: [100, 100], topology: 'torus' }, { from: [90, 90], to: [9, 9] }, true)
 */
export function regionFilter(
  environment: EnvironmentConfig,
  region: Region,
  wrap = false,
): (coordinates: readonly number[]) => boolean {
  const world = new EnvironmentProperties(environment)
  const spans = spansOf(world, region, wrap)
  return coordinates =>
    spans.every(({ from, cells }, axis) => modulo((coordinates[axis] ?? 0) - from, world.shape[axis] ?? 1) < cells)
}

/** The part of each dimension that a region has. Throws an `EnvironmentError` where it is not one of this world. */
export function spansOf(world: EnvironmentProperties, region: Region, wrap = false): Span[] {
  if (wrap && !world.isTorus) {
    throw new EnvironmentError('The world is bounded, so a region has no other edge to go on at. Leave out wrap')
  }
  const { from, to } = region
  if (from.length !== world.dimensions || to.length !== world.dimensions) {
    throw new EnvironmentError(
      `The region from [${from}] to [${to}] does not have the ${world.dimensions} dimensions of the world`,
    )
  }
  if (!wrap) requireInside(world, region)
  return from.map((start, axis) => spanOf(start, to[axis] as number, world.shape[axis] as number, wrap))
}

function requireInside(world: EnvironmentProperties, { from, to }: Region): void {
  world.toFlat(from)
  world.toFlat(to)
  if (from.every((start, axis) => start <= (to[axis] as number))) return
  const advice = world.isTorus ? '. With wrap it goes on at the other edge' : ''
  throw new EnvironmentError(`The region from [${from}] to [${to}] ends before it starts${advice}`)
}

/** A region that ends before it starts crosses the edge once. */
function spanOf(from: number, to: number, length: number, wrap: boolean): Span {
  if (!wrap) return { from, cells: to - from + 1 }
  const cells = to >= from ? to - from + 1 : modulo(to - from, length) + 1
  if (cells > length) {
    throw new EnvironmentError(
      `The region from ${from} to ${to} is wider than the world, which has ${length} cells there`,
    )
  }
  return { from: modulo(from, length), cells }
}

const modulo = (value: number, length: number): number => ((value % length) + length) % length
