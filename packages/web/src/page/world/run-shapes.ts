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
  /** Least and largest of a tick. */
  readonly min?: SeriesFigures
  readonly max?: SeriesFigures
}

/** GET /runs/:r/series?lineage= gives samples of single ticks of one lineage, without cells. */
type SeriesFigures = {
  readonly alive: number
  readonly births: number
  readonly deaths: number
  readonly meanEnergy: number
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

/** Indexed ticks around one that is not; null: none on that side. */
export type NearestTicks = { readonly before: number | null; readonly after: number | null }
