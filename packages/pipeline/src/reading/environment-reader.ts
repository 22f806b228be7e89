import { decodeCells, verifyCells } from '../contracts/cell-codec.ts'
import { DEFAULT_LIMITS } from '../contracts/limits.ts'
import type { Cells, SimulationMetadata } from '../contracts/tick.ts'
import { worldSizeOf } from '../contracts/tick-codec.ts'
import { IndexedTickError } from '../databases/errors.ts'
import type { IndexDatabase } from '../databases/index-database.ts'
import { indexedRun } from '../databases/indexed-run.ts'
import type { TickRange } from '../databases/ledger-store.ts'
import { type PackedBytes, unpack } from '../databases/packing.ts'
import type { IndexedRange, NearestTicks } from '../databases/tick-blobs.ts'
import { differenceOf } from '../environment/difference.ts'
import { EnvironmentProperties } from '../environment/properties.ts'
import type { EnvironmentStrategy } from '../environment/strategy.ts'
import { refuseUnknown, wholeNumber } from '../options.ts'
import { nothingOf } from './nothing-of.ts'
import { RecentTicks } from './recent-ticks.ts'
import { readRegion } from './region-read.ts'
import type { Cell, CellsDifference, EnvironmentReader, IndexedTicks, Region, TickQuery } from './run-index.ts'
import { Strategies } from './strategies.ts'
import { checkOrder } from './tick-query.ts'
import { gapsBetween, readSequences } from './tick-ranges.ts'

/** About 300 ticks of the 100 × 100 world. */
const RECENT_BYTES = 8 * 1024 ** 2

type ReadMetadata = () => Promise<SimulationMetadata | null>

const MOST_RANGES = 1_000

/** Number of ticks that are remembered as verified. */
const KNOWN_GOOD = 20_000

/** Cells of ticks, read with the strategies that wrote them. */
export class IndexedEnvironment implements EnvironmentReader {
  readonly #database: IndexDatabase
  readonly #strategies: Strategies
  readonly #metadata: ReadMetadata
  readonly #recent = new RecentTicks(RECENT_BYTES)
  readonly #good = new Set<number>()
  #world: EnvironmentProperties | undefined

  constructor(database: IndexDatabase, strategies: readonly EnvironmentStrategy[], metadata: ReadMetadata) {
    this.#database = database
    this.#strategies = new Strategies(database, strategies)
    this.#metadata = metadata
  }

  async range(): Promise<IndexedRange | null> {
    const run = await this.#run()
    const written = await this.#strategies.written()
    if (written.length === 0) return await this.#strategies.first.range(run)
    const interval = run.metadata?.samplingInterval ?? 1
    const ranges = await Promise.all(
      written.map(async ({ by, strategy }) => (await strategy?.range(run)) ?? { ...by, ticks: most(by, interval) }),
    )
    const tickStart = Math.min(...ranges.map(range => range.tickStart))
    const tickEnd = Math.max(...ranges.map(range => range.tickEnd))
    const ticks = ranges.reduce((sum, range) => sum + range.ticks, 0)
    // A tick that was written by two strategies counts once.
    return { tickStart, tickEnd, ticks: Math.min(ticks, most({ tickStart, tickEnd }, interval)) }
  }

  /** Ticks of a strategy with its own tables are only known by their range. */
  async nearest(tick: number): Promise<NearestTicks> {
    const found = await this.#database.environmentTicks.nearest(wholeNumber('tick', tick, { min: 0 }))
    const range = found.before === null || found.after === null ? await this.range() : null
    if (range === null) return found
    return {
      before: found.before ?? (range.tickEnd < tick ? range.tickEnd : null),
      after: found.after ?? (range.tickStart > tick ? range.tickStart : null),
    }
  }

  async ticks(query: TickQuery & { readonly limit?: number } = {}): Promise<IndexedTicks> {
    refuseUnknown(query, ['from', 'to', 'limit'])
    checkOrder(query)
    const most = wholeNumber('limit', query.limit ?? MOST_RANGES, { min: 1, max: MOST_RANGES })
    const [metadata, indexed] = await Promise.all([this.#metadata(), this.range()])
    if (indexed === null) return { ranges: [], gaps: [], next: null }
    const step = metadata?.samplingInterval ?? 1
    const span = sampledSpan(query, indexed, step)
    if (span.tickStart > span.tickEnd) return { ranges: [], gaps: [], next: null }
    const blobs = this.#database.environmentTicks
    const { ranges, next } =
      (await blobs.range()) === null
        ? { ranges: [[span.tickStart, span.tickEnd, step] as const], next: null }
        : await readSequences(blobs, span, step, most)
    // The part between two pages belongs to the second.
    const last = next === null ? span.tickEnd : (ranges.at(-1)?.[1] ?? span.tickEnd)
    const from = next === null ? null : last + step
    return { ranges, gaps: gapsBetween(ranges, { tickStart: span.tickStart, tickEnd: last }, step), next: from }
  }

  async bytes(tick: number): Promise<Uint8Array | null> {
    const recent = this.#recent.get(wholeNumber('tick', tick, { min: 0 }))
    if (recent !== undefined) return recent
    const run = await this.#run()
    const bytes = await this.#read(tick, strategy => strategy.read(tick, run))
    if (bytes === null) return await nothingOf(this.#database, tick)
    this.#requireGood(tick, bytes, run.metadata)
    this.#recent.set(tick, bytes)
    return bytes
  }

  async packed(tick: number): Promise<PackedBytes | null> {
    const packed = await this.stored(tick)
    // Bytes that can't be decoded must not be sent as a tick.
    if (packed !== null && !this.#good.has(tick)) {
      const bytes = unpack(packed.bytes, DEFAULT_LIMITS.maxTickBytes, `tick ${tick}`)
      this.#requireGood(tick, bytes, await this.#metadata())
    }
    return packed
  }

  async stored(tick: number): Promise<PackedBytes | null> {
    const wanted = wholeNumber('tick', tick, { min: 0 })
    const run = await this.#run()
    const packed = await this.#read(wanted, async strategy => {
      if (strategy.readPacked !== undefined) return await strategy.readPacked(wanted, run)
      const bytes = await strategy.read(wanted, run)
      return bytes && ({ bytes, compression: 'none' } as const)
    })
    return packed ?? (await nothingOf(this.#database, wanted))
  }

  async cells(tick: number, region?: Region): Promise<Cells | null> {
    const bytes = await this.bytes(tick)
    if (bytes === null) return null
    if (region === undefined) return decodeCells(bytes, DEFAULT_LIMITS)
    const world = await this.#properties()
    if (world === null) return null
    return readRegion(bytes, region, world, DEFAULT_LIMITS)
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

  /** Ranges grow while a run is indexed: if a tick is not found, the recorded ranges are read again. */
  async #read<T>(tick: number, read: (strategy: EnvironmentStrategy) => Promise<T | null>): Promise<T | null> {
    for (const isFresh of [false, true]) {
      for (const strategy of await this.#strategies.of(tick, isFresh)) {
        const found = await read(strategy)
        if (found !== null) return found
      }
    }
    return null
  }

  #requireGood(tick: number, bytes: Uint8Array, metadata: SimulationMetadata | null): void {
    if (this.#good.has(tick)) return
    try {
      verifyCells(bytes, DEFAULT_LIMITS, metadata === null ? undefined : worldSizeOf(metadata.environment))
    } catch (error) {
      throw new IndexedTickError(this.#database.runId, tick, error as Error)
    }
    // Without metadata the size of the world is unknown.
    if (metadata === null) return
    this.#good.add(tick)
    for (const oldest of this.#good) if (this.#good.size > KNOWN_GOOD) this.#good.delete(oldest)
  }

  async #run() {
    return indexedRun(this.#database, await this.#metadata())
  }

  /** null: the size of the world is not known yet. */
  async #properties(): Promise<EnvironmentProperties | null> {
    const metadata = await this.#metadata()
    if (metadata === null) return null
    this.#world ??= new EnvironmentProperties(metadata.environment)
    return this.#world
  }
}

/** The part of a query that is indexed, from a sample to a sample. */
function sampledSpan(
  { from = 0, to = Number.MAX_SAFE_INTEGER }: TickQuery,
  indexed: TickRange,
  step: number,
): TickRange {
  const { tickStart, tickEnd } = indexed
  const first = Math.max(wholeNumber('from', from, { min: 0 }), tickStart)
  const last = Math.min(wholeNumber('to', to, { min: 0 }), tickEnd)
  return {
    tickStart: tickStart + Math.ceil((first - tickStart) / step) * step,
    tickEnd: tickStart + Math.floor((last - tickStart) / step) * step,
  }
}

const most = ({ tickStart, tickEnd }: TickRange, samplingInterval: number): number =>
  Math.floor((tickEnd - tickStart) / samplingInterval) + 1
