import type { Cells, Organism, SimulationMetadata } from '../contracts/tick.ts'
import type { PackedBytes } from '../databases/packing.ts'
import type { IndexedRange, NearestTicks } from '../databases/tick-blobs.ts'
import type { Gap } from '../ledger/gap-detection.ts'

export type { IndexedRange, NearestTicks } from '../databases/tick-blobs.ts'

/** Region of a world. Both corners belong to it: from [0, 0] to [19, 19] is 20 × 20. */
export type Region = {
  /** Corner with the lowest coordinates. */
  readonly from: readonly number[]
  /** Corner with the highest coordinates. */
  readonly to: readonly number[]
}

/** An occupied cell. */
export type Cell = {
  /** Coordinates. */
  readonly coordinates: readonly number[]
  /** Molecule type. */
  readonly moleculeType: number
  /** Value. */
  readonly moleculeValue: number
  /** Id of the organism that owns it, or 0. */
  readonly ownerId: number
}

/** Difference between two ticks. */
export type CellsDifference = {
  /** Cells that were set or changed. */
  readonly set: Cells
  /** Flat indexes of cells that were emptied. */
  readonly emptied: Int32Array
}

/** Indexed ticks of a run. */
export type IndexedTicks = {
  /** Ticks `start`, `start + step`, … `end` without a gap. */
  readonly ranges: readonly (readonly [start: number, end: number, step: number])[]
  /** Missing ticks, from the first to the last. */
  readonly gaps: readonly (readonly [start: number, end: number])[]
  /** Value of `from` for the next ranges, or null if these are all. */
  readonly next: number | null
}

/** Reads cells. */
export type EnvironmentReader = {
  /** Range of indexed ticks, or null. */
  range(): Promise<IndexedRange | null>
  /** Indexed ticks around one that is not. */
  nearest(tick: number): Promise<NearestTicks>
  /**
   * Which ticks are indexed, and which are missing between the first and the last. At most `limit` ranges (default
   * 1000). Ticks of a strategy with its own tables are only known by their first and last.
   */
  ticks(query?: TickQuery & { readonly limit?: number }): Promise<IndexedTicks>
  /**
   * Cells of a tick as the simulation wrote them (a CellStateList), or null if the tick is not indexed. Do not modify
   * them.
   */
  bytes(tick: number): Promise<Uint8Array | null>
  /** Cells of a tick as the index stores them, which may be compressed. */
  packed(tick: number): Promise<PackedBytes | null>
  /** Same as `packed`, but not verified: the code that decodes them must do that. It only reads a row. */
  stored(tick: number): Promise<PackedBytes | null>
  /** Cells of a tick or of a region, or null if the tick is not indexed. */
  cells(tick: number, region?: Region): Promise<Cells | null>
  /** One cell; undefined: it is empty; null: the tick is not indexed. */
  cell(tick: number, coordinates: readonly number[]): Promise<Cell | undefined | null>
  /** Difference between two ticks, or null if one of them is not indexed. */
  difference(from: number, to: number): Promise<CellsDifference | null>
}

/** Facts of an organism that do not change. */
export type OrganismFacts = {
  /** Id of the organism. */
  readonly id: number
  /** Id of its parent, or null. */
  readonly parentId: number | null
  /** Tick of its birth. */
  readonly birthTick: number
  /** Coordinates of its birth. */
  readonly birthPosition: readonly number[]
  /** Number of its lineage. */
  readonly lineage: number
  /** Tick of its death, or null if it is alive in the last indexed tick. */
  readonly deathTick: number | null
}

/** A lineage in a tick. */
export type LineageFacts = {
  /** Number of the lineage. */
  readonly lineage: number
  /** Lineage from which it comes, or null. */
  readonly parent: number | null
  /** Organisms alive in the tick. */
  readonly alive: number
  /** First tick in which one of its organisms was seen. */
  readonly firstTick: number
  /** Last tick in which one of its organisms was seen. */
  readonly lastTick: number
}

/** The lineages of a tick. */
export type LineagesAt = {
  /** Number of lineages with organisms alive. */
  readonly count: number
  /** Number of organisms alive. */
  readonly alive: number
  /** The largest. */
  readonly lineages: readonly LineageFacts[]
}

/** Selection of an organism's states. */
export type LifeQuery = TickQuery & {
  /** Maximum number of states (default 1000). */
  readonly limit?: number
}
/** A page of states of one organism. */
export type LifePage = {
  /** States by tick. */
  readonly moments: readonly { readonly tick: number; readonly state: Organism }[]
  /** Pass it as `from` to continue if the page was limited by bytes; null: this is all. */
  readonly next: number | null
}
/** Range of ticks. */
export type TickQuery = {
  /** First tick. */
  readonly from?: number
  /** Last tick. */
  readonly to?: number
}

/** Reads organisms. */
export type OrganismReader = {
  /** Range of indexed ticks, or null. */
  range(): Promise<IndexedRange | null>
  /** Indexed ticks around one that is not. */
  nearest(tick: number): Promise<NearestTicks>
  /** Organisms of a tick, or null if it is not indexed. */
  at(tick: number): Promise<readonly Organism[] | null>
  /** Facts of an organism, or null. */
  facts(id: number): Promise<OrganismFacts | null>
  /** State of an organism in a tick; undefined: it is not alive then; null: the tick is not indexed. */
  oneAt(id: number, tick: number): Promise<Organism | undefined | null>
  /** Lineages of organisms by their ids, in the same order; 0 if one is unknown. */
  lineagesOf(ids: Int32Array): Promise<Int32Array>
  /** The lineages with most organisms alive in a tick (default 7), the largest first, or null if it is not indexed. */
  lineages(tick: number, top?: number): Promise<LineagesAt | null>
  /** States of an organism over time, the oldest first: at most `limit` (default 1000), evenly sampled. */
  life(id: number, query?: LifeQuery): Promise<readonly { readonly tick: number; readonly state: Organism }[]>
  /** States of an organism, also limited by bytes (`maxBytes`, about their size as JSON). */
  lifePage(id: number, query?: LifeQuery & { readonly maxBytes?: number }): Promise<LifePage>
  /** The organism, its parent and further ancestors, and its children by id, those above `after`. */
  lineage(
    id: number,
    limit?: number,
    after?: number,
  ): Promise<{ ancestors: readonly OrganismFacts[]; children: readonly OrganismFacts[] }>
}

/** Figures of one tick. */
export type SeriesFigures = {
  /** Organisms alive. */
  readonly alive: number
  /** Births. */
  readonly births: number
  /** Deaths. */
  readonly deaths: number
  /** Mean energy of an organism. */
  readonly meanEnergy: number
}

/** One point of a time series: averages over `ticks` ticks from `tick` on; births and deaths are sums. */
export type SeriesPoint = {
  /** First tick. */
  readonly tick: number
  /** Number of ticks. */
  readonly ticks: number
  /** Organisms alive. */
  readonly alive: number
  /** Births. */
  readonly births: number
  /** Deaths. */
  readonly deaths: number
  /** Mean energy of an organism. */
  readonly meanEnergy: number
  /** Occupied cells by molecule type. */
  readonly cells: readonly number[]
  /** Least of a tick. */
  readonly min: SeriesFigures
  /** Largest of a tick. */
  readonly max: SeriesFigures
}

/** Selection of a time series. */
export type SeriesQuery = TickQuery & {
  /** Maximum number of points. */
  readonly points?: number
  /** Lineage whose organisms are counted (default: all organisms). */
  readonly lineage?: number
}

/** Reads time series. */
export type SeriesReader = {
  /** Range of indexed ticks, or null. */
  range(): Promise<IndexedRange | null>
  /**
   * At most `points` points (default 500) over the given range. With `lineage`, of the organisms of that lineage: each
   * point is then a sample of one tick, there are at most 500, and cells are not counted.
   */
  read(query?: SeriesQuery): Promise<readonly SeriesPoint[]>
}

/** Missing ticks of an indexer. */
export type IndexedGap = Gap & {
  /** Name of the indexer. */
  readonly indexer: string
}

/** Page of gaps to read. */
export type GapsPage = {
  /** Last gap of the previous page. */
  readonly after?: Pick<IndexedGap, 'indexer' | 'tickEnd'>
  /** Maximum number of gaps (default 1000). */
  readonly limit?: number
}

/** How far a run is indexed. */
export type RunProgress = {
  /** First tick, last tick and number of indexed ticks, or null if there are none. */
  readonly ticks: IndexedRange | null
  /** Organisms alive in the last tick of the series, or null if it has none. */
  readonly alive: number | null
}

/** Facts of an indexed run for a list of runs. */
export type RunSummary = RunProgress & {
  /** Size of its index on disk. */
  readonly bytes: number
  /** Number of gaps: ranges of missing ticks, in the index that misses most of them. At most 1000 are counted. */
  readonly gaps: number
}

/** Everything that can be read of an indexed run. */
export type RunIndex = AsyncDisposable & {
  /** Id of the run. */
  readonly runId: string
  /** Metadata of the run, or null if it is not indexed yet. */
  metadata(): Promise<SimulationMetadata | null>
  /** How far the run is indexed. Cheap: no tick is read. */
  progress(): Promise<RunProgress>
  /** Progress, size and gaps. Cheap: no tick is read. */
  summary(): Promise<RunSummary>
  /** Missing ticks, by indexer and tick. */
  gaps(page?: GapsPage): Promise<readonly IndexedGap[]>
  /** Cells. */
  readonly environment: EnvironmentReader
  /** Organisms. */
  readonly organisms: OrganismReader
  /** Time series. */
  readonly series: SeriesReader
  /** Closes the index. */
  close(): Promise<void>
}
