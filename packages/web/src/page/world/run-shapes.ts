export type Range = { readonly tickStart: number; readonly tickEnd: number; readonly ticks: number }

export type Ranges = {
  readonly environment: Range | null
  readonly organisms: Range | null
  readonly series: Range | null
}

export type Metadata = {
  readonly startedAt: number
  readonly seed: string
  readonly samplingInterval: number
  readonly environment: { readonly shape: readonly number[]; readonly topology: 'torus' | 'bounded' }
  readonly moleculeTypes: readonly string[]
}

export type RunDetails = {
  readonly runId: string
  readonly metadata: Metadata | null
  readonly indexed: Ranges
}

export type SeriesPoint = {
  readonly tick: number
  readonly alive: number
  readonly births: number
  readonly deaths: number
  readonly meanEnergy: number
  readonly cells: readonly number[]
}

/** GET /runs?facts=true&order=newest, and `newestRun` of the overview. */
export type RunFacts = {
  readonly runId: string
  readonly live: boolean
  readonly startedAt: string
  /** null while its metadata is not indexed. */
  readonly seed: string | null
  readonly shape: readonly number[] | null
  readonly topology: 'torus' | 'bounded' | null
  readonly moleculeTypes: readonly string[]
  readonly samplingInterval: number | null
  readonly ticks: { readonly first: number; readonly last: number; readonly count: number } | null
  readonly alive: number | null
  readonly bytes: number | null
  readonly gaps: number
  readonly problem: string | null
}

/** Event `run`: of the newest run, of every run that grows, and of those asked for (`detail=run:<id>`). */
export type RunEvent = {
  readonly runId: string
  readonly live: boolean
  readonly tick: number
  readonly alive: number | null
}

/** Event `series`, only with `detail=run:<id>`: points since the last event of this kind. */
export type SeriesEvent = { readonly runId: string; readonly points: readonly SeriesPoint[] }

/**
 * GET /runs/:r/environment/:tick/tile?region&size=512,512&plane=type|value|owner|lineage&reduce=telling|max|mean&wrap:
 * octets, row by row. Headers: `tidemark-element` (u8 for type, i32 for value, u32 for owner and lineage; little-endian) and
 * `tidemark-size` ("width,height": at most `size`, and a pixel is never less than a cell). `tile.png` (and `theme=dark|light`) is the same
 * as a picture.
 */
export type TilePlane = 'type' | 'value' | 'owner' | 'lineage'

/** In the problem of a tick that is not indexed (404). */
export type NearestTicks = { readonly before: number | null; readonly after: number | null }

/**
 * GET /runs/:r/frames?from&to&every&region&size&plane&reduce&wrap: records of a varint length of the rest, a varint tick, a byte for the
 * kind, and bytes. key: pixels as in a tile. xor: those XOR the frame before, byte by byte. gap: a varint, the last missing tick from
 * `tick` on. end: no bytes, go on at `tick`. problem: JSON. The headers are those of a tile.
 */
export const FRAME_KINDS = { key: 0, xor: 1, gap: 2, end: 3, problem: 4 } as const

/** GET /runs/:r/ticks?from&to&limit: a page; `next` is the `from` of the following one. */
export type IndexedTicks = {
  readonly ranges: readonly (readonly [start: number, end: number, step: number])[]
  readonly gaps: readonly (readonly [start: number, end: number])[]
  readonly next: number | null
}

/** GET /runs/:r/organisms?tick&region&wrap&lineage&sort=id|energy&after&limit: entry i of each column is one organism. */
export type OrganismColumns = {
  readonly tick: number
  readonly id: readonly number[]
  readonly parentId: readonly (number | null)[]
  readonly birthTick: readonly number[]
  readonly lineage: readonly number[]
  readonly energy: readonly (number | null)[]
  /** A column for each dimension. */
  readonly position: readonly (readonly number[])[]
  readonly isDead: readonly boolean[]
  readonly total: number
  readonly next: string | null
}

/** GET /runs/:r/lineages?tick&top=7: the largest first. */
export type LineagesAt = {
  readonly tick: number
  /** Lineages, and organisms, that are alive. */
  readonly count: number
  readonly alive: number
  readonly lineages: readonly {
    readonly lineage: number
    readonly parent: number | null
    readonly alive: number
    readonly firstTick: number
    readonly lastTick: number
  }[]
}
