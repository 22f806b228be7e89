import type { IndexDatabase } from '../databases/index-database.ts'
import type { EnvironmentReader, OrganismReader, RunProgress, RunSummary, SeriesReader } from './run-index.ts'

/** More gaps than this are not counted. */
const MOST_GAPS = 1_000

type Readers = {
  readonly environment: EnvironmentReader
  readonly organisms: OrganismReader
  readonly series: SeriesReader
}

export async function progressOf(
  database: IndexDatabase,
  { environment, organisms, series }: Readers,
): Promise<RunProgress> {
  const [cells, alive] = await Promise.all([environment.range(), aliveIn(database)])
  return { ticks: cells ?? (await organisms.range()) ?? (await series.range()), alive }
}

export async function summaryOf(database: IndexDatabase, readers: Readers): Promise<RunSummary> {
  const [progress, bytes, gaps] = await Promise.all([
    progressOf(database, readers),
    database.size(),
    countGaps(database),
  ])
  return { ...progress, bytes, gaps }
}

async function aliveIn({ series }: IndexDatabase): Promise<number | null> {
  const span = await series.span(0)
  if (span === null) return null
  const [last] = await series.read(0, { first: span.last, last: span.last })
  return last?.alive ?? null
}

/** Every indexer has its own ledger, and as a rule all miss the same ticks. */
async function countGaps({ ledger }: IndexDatabase): Promise<number> {
  let most = 0
  for (const { indexer } of await ledger.list()) {
    most = Math.max(most, (await ledger.gaps(indexer, { after: -1, limit: MOST_GAPS })).length)
  }
  return most
}
