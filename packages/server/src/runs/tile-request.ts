import { planTile, type Region, type SimulationMetadata, type TilePlan, type TilePlane } from '@tidemark/pipeline'
import { type Static, Type } from 'typebox'
import { BadRequestError, NotFoundError, TileTooLargeError } from '../errors.ts'
import type { OpenRun } from './run-indexes.ts'

const COORDINATES = '-?\\d{1,10}(,-?\\d{1,10}){0,15}'
const DEFAULT_SIZE = '512,512'

/** Parameters of a tile and of frames, which are consecutive tiles. */
export const TileQuery = {
  region: Type.Optional(
    Type.String({
      pattern: `^${COORDINATES}:${COORDINATES}$`,
      description:
        'Region from corner to corner, inclusive; all of the first two dimensions by default. At most two dimensions ' +
        'may extend; the others have one coordinate, such as 0,0,3:99,99,3. The lower dimension goes across.',
      examples: ['0,0:19,19'],
    }),
  ),
  size: Type.Optional(
    Type.String({
      pattern: '^[1-9]\\d{0,4},[1-9]\\d{0,4}$',
      default: DEFAULT_SIZE,
      description: 'Maximum width and height in pixels. A pixel is never less than a cell.',
      examples: [DEFAULT_SIZE],
    }),
  ),
  plane: Type.Optional(
    Type.Enum(['type', 'value', 'owner', 'lineage'], {
      default: 'type',
      description: 'What a pixel shows of its cell.',
    }),
  ),
  reduce: Type.Optional(
    Type.Enum(['telling', 'max', 'mean'], {
      default: 'telling',
      description:
        'What a pixel of several cells shows: the most telling one (core, toxin, structure, energy), the largest number, ' +
        'or the mean value. Types and owners have no mean, lineages only telling cells.',
    }),
  ),
  wrap: Type.Optional(
    Type.Enum(['true', 'false', ''], {
      description:
        'On a torus: the region may cross the edges (90,90:9,9), and have coordinates beyond them (-5,-5:5,5).',
    }),
  ),
}

type TileAsked = { readonly [name in keyof typeof TileQuery]?: Static<(typeof TileQuery)[name]> | undefined }

export type ElementType = 'u8' | 'i32' | 'u32'
/** Values may be negative; numbers of organisms and lineages are not. */
export const ELEMENTS: { readonly [plane in TilePlane]: ElementType } = {
  type: 'u8',
  value: 'i32',
  owner: 'u32',
  lineage: 'u32',
}

/** Checked against the world and the limit. */
export async function planOf(
  { index }: OpenRun,
  asked: TileAsked,
  { tilePixels }: { readonly tilePixels: number },
  keepAspect = false,
): Promise<{ readonly plan: TilePlan; readonly metadata: SimulationMetadata }> {
  const metadata = await index.metadata()
  if (metadata === null) throw new NotFoundError(`The metadata of run ${index.runId} is not indexed yet`)
  const [width = 0, height = 0] = (asked.size ?? DEFAULT_SIZE).split(',').map(Number)
  const plan = planTile(metadata, {
    size: { width, height },
    plane: (asked.plane ?? 'type') as TilePlane,
    reduce: (asked.reduce ?? 'telling') as 'telling',
    wrap: isWrapped(asked.wrap),
    keepAspect,
    ...(asked.region !== undefined && { region: regionOf(asked.region) }),
  })
  const pixels = plan.x.pixels * plan.y.pixels
  if (pixels > tilePixels) throw new TileTooLargeError(pixels, tilePixels)
  return { plan, metadata }
}

/** Headers that describe the pixels. */
export const tileHeaders = ({ x, y, plane }: TilePlan): Record<string, string> => ({
  'tidemark-element': ELEMENTS[plane],
  'tidemark-size': `${x.pixels},${y.pixels}`,
})

/** `wrap` alone says as much as `wrap=true`. */
export const isWrapped = (wrap: unknown): boolean => wrap === 'true' || wrap === ''

export function regionOf(text: string): Region {
  const [from = [], to = []] = text.split(':').map(corner => corner.split(',').map(Number))
  if (from.length !== to.length) {
    throw new BadRequestError(`The corners of region '${text}' have different numbers of coordinates`)
  }
  return { from, to }
}
