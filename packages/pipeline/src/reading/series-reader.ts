import type { SimulationMetadata } from '../contracts/tick.ts'
import type { IndexDatabase } from '../databases/index-database.ts'
import type { IndexedRange } from '../databases/tick-blobs.ts'
import { refuseUnknown, wholeNumber } from '../options.ts'
import { TOP_LEVEL } from '../series/levels.ts'
import { coverSpan, planPoints, type TickSpan, toPoints } from '../series/points.ts'
import { readLineage } from './lineage-series.ts'
import type { SeriesPoint, SeriesQuery, SeriesReader, TickQuery } from './run-index.ts'
import { checkOrder } from './tick-query.ts'

const DEFAULT_POINTS = 500
const MOST_POINTS = 10_000

export class IndexedSeries implements SeriesReader {
  readonly #database: IndexDatabase
  readonly #metadata: () => Promise<SimulationMetadata | null>

  constructor(database: IndexDatabase, metadata: () => Promise<SimulationMetadata | null>) {
    this.#database = database
    this.#metadata = metadata
  }

  async range(): Promise<IndexedRange | null> {
    const { series } = this.#database
    const [span, top] = await Promise.all([series.span(0), series.span(TOP_LEVEL)])
    if (span === null || top === null) return null
    // Maximum number of rows that are returned as they are, without averaging.
    const rows = await series.read(TOP_LEVEL, top)
    return { tickStart: span.first, tickEnd: span.last, ticks: rows.reduce((sum, { ticks }) => sum + ticks, 0) }
  }

  async read(query: SeriesQuery = {}): Promise<readonly SeriesPoint[]> {
    refuseUnknown(query, ['from', 'to', 'points', 'lineage'])
    const points = wholeNumber('points', query.points ?? DEFAULT_POINTS, { min: 1, max: MOST_POINTS })
    const asked = askedSpan(query)
    checkOrder(query)
    const [metadata, indexed] = await Promise.all([this.#metadata(), this.#database.series.span(0)])
    if (metadata === null || indexed === null) return []
    const span = { from: Math.max(asked.from, indexed.first), to: Math.min(asked.to, indexed.last) }
    if (span.from > span.to) return []
    const { samplingInterval, moleculeTypes } = metadata
    if (query.lineage !== undefined) {
      const lineage = wholeNumber('lineage', query.lineage, { min: 0 })
      return await readLineage(this.#database, { ...span, points, lineage, samplingInterval })
    }
    const plan = planPoints(span, points, samplingInterval)
    const pieces = coverSpan(span, plan.level, samplingInterval)
    const rows = await Promise.all(pieces.map(({ level, buckets }) => this.#database.series.read(level, buckets)))
    return toPoints(rows.flat(), plan, moleculeTypes.length)
  }
}

function askedSpan({ from = 0, to = Number.MAX_SAFE_INTEGER }: TickQuery): TickSpan {
  return { from: wholeNumber('from', from, { min: 0 }), to: wholeNumber('to', to, { min: 0 }) }
}
