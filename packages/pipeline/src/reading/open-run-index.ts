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
import { IndexedSeries } from './series-reader.ts'

export type RunIndexOptions = Pick<IndexOptions, 'busyTimeout' | 'poolSize'> & {
  /**
   * Those of your own that the environment indexer of this run has, or had: the index knows which of them wrote which ticks.
   * `singleBlob()` is always there.
   */
  readonly environmentStrategy?: EnvironmentStrategy | readonly EnvironmentStrategy[]
}

const DEFAULT_GAPS = 1_000

/**
 * Opens what is indexed of a run to be read, also while it is being written. Nothing waits for a reader. Rejects with
 * `IndexNotFoundError` where the run has no index there; what its indexers have not begun yet is null or empty.
 */
export async function openRunIndex(address: string, runId: string, options: RunIndexOptions = {}): Promise<RunIndex> {
  refuseUnknown(options, ['busyTimeout', 'poolSize', 'environmentStrategy'])
  const { environmentStrategy = [], ...opening } = options
  const database = await openIndexForReading(address, runId, opening)
  const known = new MetadataReader(database)
  const metadata = (): Promise<SimulationMetadata | null> => known.peek()
  const close = (): Promise<void> => database.close()
  return {
    runId,
    metadata,
    gaps: page => gapsOf(database, page),
    environment: new IndexedEnvironment(database, [environmentStrategy].flat(), metadata),
    organisms: new IndexedOrganisms(database),
    series: new IndexedSeries(database, metadata),
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
    // What follows a gap begins a step behind it at the latest.
    const from = indexer === after?.indexer ? after.tickEnd + start.samplingInterval : -1
    const rows = await ledger.gaps(indexer, { after: from, limit: most - gaps.length })
    gaps.push(...rows.map(row => ({ indexer, ...gapBefore(row, start) })))
  }
  return gaps
}
