import type { Cells, Organism, SimulationMetadata } from '../contracts/tick.ts'
import type { PackedBytes } from '../databases/packing.ts'
import type { IndexedRange } from '../databases/tick-blobs.ts'
import type { Gap } from '../ledger/gap-detection.ts'

export type { IndexedRange } from '../databases/tick-blobs.ts'

/** From `from` up to and including `to` on every axis, so `[[0, 0], [19, 19]]` is 20 × 20. */
export type Region = { readonly from: readonly number[]; readonly to: readonly number[] }

export type Cell = {
  readonly coordinates: readonly number[]
  readonly moleculeType: number
  readonly moleculeValue: number
  readonly ownerId: number
}

/** What changed from one tick to another. Cells that were emptied are their flat indexes alone. */
export type CellsDifference = { readonly set: Cells; readonly emptied: Int32Array }

export type EnvironmentReader = {
  range(): Promise<IndexedRange | null>
  /** The cells' bytes (a CellStateList), as the simulation wrote them; null where the tick is not indexed. To be read only. */
  bytes(tick: number): Promise<Uint8Array | null>
  /** The same as the index has them: compressed, where the indexer compresses. */
  packed(tick: number): Promise<PackedBytes | null>
  cells(tick: number, region?: Region): Promise<Cells | null>
  /** undefined: the tick is indexed, and the cell is empty. */
  cell(tick: number, coordinates: readonly number[]): Promise<Cell | undefined | null>
  /** null where one of the ticks is not indexed. */
  difference(from: number, to: number): Promise<CellsDifference | null>
}

/** What is told of an organism once. */
export type OrganismFacts = {
  readonly id: number
  readonly parentId: number | null
  readonly birthTick: number
  readonly birthPosition: readonly number[]
  readonly lineage: number
  /** null: alive in the last tick that is indexed. */
  readonly deathTick: number | null
}

export type LifeQuery = TickQuery & { readonly limit?: number }
export type LifePage = {
  readonly moments: readonly { readonly tick: number; readonly state: Organism }[]
  /** Give it as `from` for the rest, where bytes have ended the page; null: these are all. */
  readonly next: number | null
}
export type TickQuery = { readonly from?: number; readonly to?: number }

export type OrganismReader = {
  range(): Promise<IndexedRange | null>
  at(tick: number): Promise<readonly Organism[] | null>
  facts(id: number): Promise<OrganismFacts | null>
  oneAt(id: number, tick: number): Promise<Organism | undefined | null>
  /** Its states over time, oldest first, at most `limit` (default 1000) evenly chosen from the range. */
  life(id: number, query?: LifeQuery): Promise<readonly { readonly tick: number; readonly state: Organism }[]>
  /** The same, ended by bytes too (`maxBytes`, about as many as it takes as JSON). */
  lifePage(id: number, query?: LifeQuery & { readonly maxBytes?: number }): Promise<LifePage>
  /** Itself first, then its parent, and so on; and its children by id, those above `after`. */
  lineage(
    id: number,
    limit?: number,
    after?: number,
  ): Promise<{ ancestors: readonly OrganismFacts[]; children: readonly OrganismFacts[] }>
}

/** One point of the series, over `ticks` ticks from `tick` on: means, but births and deaths are sums. */
export type SeriesPoint = {
  readonly tick: number
  readonly ticks: number
  readonly alive: number
  readonly births: number
  readonly deaths: number
  readonly meanEnergy: number
  /** By molecule type. */
  readonly cells: readonly number[]
}

export type SeriesReader = {
  range(): Promise<IndexedRange | null>
  /** At most `points` (default 500) over the range asked for. */
  read(query?: TickQuery & { readonly points?: number }): Promise<readonly SeriesPoint[]>
}

export type IndexedGap = Gap & { readonly indexer: string }

export type GapsPage = {
  /** Those behind this gap. */
  readonly after?: Pick<IndexedGap, 'indexer' | 'tickEnd'>
  /** Default 1000. */
  readonly limit?: number
}

/** All that can be read of one indexed run. */
export type RunIndex = AsyncDisposable & {
  readonly runId: string
  metadata(): Promise<SimulationMetadata | null>
  /** What is missing between the batches that came, by indexer and tick. */
  gaps(page?: GapsPage): Promise<readonly IndexedGap[]>
  readonly environment: EnvironmentReader
  readonly organisms: OrganismReader
  readonly series: SeriesReader
  close(): Promise<void>
}
