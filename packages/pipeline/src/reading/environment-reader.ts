import { decodeCellRange, decodeCells } from '../contracts/cell-codec.ts'
import { DEFAULT_LIMITS } from '../contracts/limits.ts'
import type { Cells, SimulationMetadata } from '../contracts/tick.ts'
import type { IndexDatabase } from '../databases/index-database.ts'
import { indexedRun } from '../databases/indexed-run.ts'
import type { PackedBytes } from '../databases/packing.ts'
import type { IndexedRange } from '../databases/tick-blobs.ts'
import { differenceOf } from '../environment/difference.ts'
import { EnvironmentProperties } from '../environment/properties.ts'
import { boundsOf, cellsIn } from '../environment/region.ts'
import type { EnvironmentStrategy } from '../environment/strategy.ts'
import { wholeNumber } from '../options.ts'
import { RecentTicks } from './recent-ticks.ts'
import type { Cell, CellsDifference, EnvironmentReader, Region } from './run-index.ts'

/** Three hundred ticks of the 100 × 100 world. */
const RECENT_BYTES = 8 * 1024 ** 2

type ReadMetadata = () => Promise<SimulationMetadata | null>

/** Cells of ticks, through the strategy that wrote them. */
export class IndexedEnvironment implements EnvironmentReader {
  readonly #database: IndexDatabase
  readonly #strategy: EnvironmentStrategy
  readonly #metadata: ReadMetadata
  readonly #recent = new RecentTicks(RECENT_BYTES)
  #world: EnvironmentProperties | undefined

  constructor(database: IndexDatabase, strategy: EnvironmentStrategy, metadata: ReadMetadata) {
    this.#database = database
    this.#strategy = strategy
    this.#metadata = metadata
  }

  async range(): Promise<IndexedRange | null> {
    return await this.#strategy.range(await this.#run())
  }

  async bytes(tick: number): Promise<Uint8Array | null> {
    const recent = this.#recent.get(wholeNumber('tick', tick, { min: 0 }))
    if (recent !== undefined) return recent
    const bytes = await this.#strategy.read(tick, await this.#run())
    if (bytes !== null) this.#recent.set(tick, bytes)
    return bytes
  }

  async packed(tick: number): Promise<PackedBytes | null> {
    const wanted = wholeNumber('tick', tick, { min: 0 })
    if (this.#strategy.readPacked !== undefined) return await this.#strategy.readPacked(wanted, await this.#run())
    const bytes = await this.bytes(tick)
    return bytes && { bytes, compression: 'none' }
  }

  async cells(tick: number, region?: Region): Promise<Cells | null> {
    const bytes = await this.bytes(tick)
    if (bytes === null) return null
    if (region === undefined) return decodeCells(bytes, DEFAULT_LIMITS)
    const world = await this.#properties()
    if (world === null) return null
    const { first, last } = boundsOf(region, world)
    return cellsIn(decodeCellRange(bytes, first, last, DEFAULT_LIMITS), region, world)
  }

  async cell(tick: number, coordinates: readonly number[]): Promise<Cell | undefined | null> {
    const cells = await this.cells(tick, { from: coordinates, to: coordinates })
    if (cells === null) return null
    const [moleculeType, moleculeValue, ownerId] = [cells.moleculeType[0], cells.moleculeValue[0], cells.ownerId[0]]
    if (moleculeType === undefined || moleculeValue === undefined || ownerId === undefined) return undefined
    return { coordinates: [...coordinates], moleculeType, moleculeValue, ownerId }
  }

  async difference(from: number, to: number): Promise<CellsDifference | null> {
    const [before, after] = await Promise.all([this.cells(from), this.cells(to)])
    return before && after && differenceOf(before, after)
  }

  async #run() {
    return indexedRun(this.#database, await this.#metadata())
  }

  /** null: nobody has told yet how large the world is. */
  async #properties(): Promise<EnvironmentProperties | null> {
    const metadata = await this.#metadata()
    if (metadata === null) return null
    this.#world ??= new EnvironmentProperties(metadata.environment)
    return this.#world
  }
}
