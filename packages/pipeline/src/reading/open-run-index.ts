import type { SimulationMetadata } from '../contracts/tick.ts'
import type { IndexDatabase } from '../databases/index-database.ts'
import { MetadataReader } from '../databases/metadata-reader.ts'
import { type IndexOptions, openIndexForReading } from '../databases/open-index.ts'
import type { EnvironmentStrategy } from '../environment/strategy.ts'
import { gapBefore } from '../ledger/gap-detection.ts'
import { refuseUnknown, wholeNumber } from '../options.ts'
import { IndexedEnvironment } from './environment-reader.ts'
import { IndexedOrganisms } from './organism-reader.ts'
import type { GapsPage, IndexedGap, RunIndex } from './run-index.ts'
import { progressOf, summaryOf } from './run-summary.ts'
import { IndexedSeries } from './series-reader.ts'

/** Options of `openRunIndex`. */
export type RunIndexOptions = Pick<IndexOptions, 'busyTimeout' | 'poolSize'> & {
  /**
   * Your own strategies that wrote cells of this run. The index records which strategy wrote which ticks.
   * `singleBlob()` is always available.
   */
  readonly environmentStrategy?: EnvironmentStrategy | readonly EnvironmentStrategy[]
}

const DEFAULT_GAPS = 1_000

/**
 * Opens the index of a run for reading, also while it is being written. Readers and writers do not block each other.
 * Rejects with `IndexNotFoundError` if the run has no index; data that is not indexed yet is null or empty.
 *
 * @example
 * await using opened = await openRunIndex('sqlite:./data/index', run)
 * const cells = await opened.environment.cells(500, { from: [40, 40], to: [59, 59] })
 */
export async function openRunIndex(address: string, runId: string, options: RunIndexOptions = {}): Promise<RunIndex> {
  refuseUnknown(options, ['busyTimeout', 'poolSize', 'environmentStrategy'])
  const { environmentStrategy = [], ...opening } = options
  const database = await openIndexForReading(address, runId, opening)
  const known = new MetadataReader(database)
  const metadata = (): Promise<SimulationMetadata | null> => known.peek()
  const close = (): Promise<void> => database.close()
  const readers = {
    environment: new IndexedEnvironment(database, [environmentStrategy].flat(), metadata),
    organisms: new IndexedOrganisms(database),
    series: new IndexedSeries(database, metadata),
  }
  return {
    runId,
    metadata,
    progress: () => progressOf(database, readers),
    summary: () => summaryOf(database, readers),
    gaps: page => gapsOf(database, page),
    ...readers,
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function gapsOf(
  { ledger }: IndexDatabase,
  { after, limit = DEFAULT_GAPS }: GapsPage = {},
): Promise<IndexedGap[]> {
  const most = wholeNumber('limit', limit, { min: 1 })
  const gaps: IndexedGap[] = []
  const ledgers = (await ledger.list()).toSorted((one, other) => (one.indexer < other.indexer ? -1 : 1))
  for (const { indexer, ...start } of ledgers) {
    if (gaps.length >= most) break
    if (after !== undefined && indexer < after.indexer) continue
    // What follows a gap begins at most one step after it.
    const from = indexer === after?.indexer ? after.tickEnd + start.samplingInterval : -1
    const rows = await ledger.gaps(indexer, { after: from, limit: most - gaps.length })
    gaps.push(...rows.map(row => ({ indexer, ...gapBefore(row, start) })))
  }
  return gaps
}
