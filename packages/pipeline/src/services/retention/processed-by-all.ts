import { IndexNotFoundError } from '../../databases/errors.ts'
import type { IndexDatabase } from '../../databases/index-database.ts'
import type { TickRange } from '../../databases/ledger-store.ts'
import { type IndexOptions, openIndexForReading } from '../../databases/open-index.ts'

/** An index built from a storage, and the ledgers it must have before anything may be removed. */
export type FollowingIndex = {
  readonly address: string
  readonly options: Pick<IndexOptions, 'busyTimeout' | 'poolSize'>
  readonly indexers: readonly string[]
}

/** What every indexer has processed; nothing if one has not begun. */
export type Processed = {
  /** The last tick of the indexer that is furthest behind; -1: one has nothing yet. */
  readonly lastTick: number
  isProcessed(batch: TickRange): boolean
}

const PAGE = 1_000
/** Ranges are merged as they grow: an index with more has thousands of gaps, and what is behind those stays. */
const MOST_PAGES = 20

/** Every indexer that has a ledger counts, whoever runs it, and those that should have one. */
export async function processedByAll(runId: string, indexes: readonly FollowingIndex[]): Promise<Processed> {
  const ledgers: (readonly TickRange[])[] = []
  for (const index of indexes) ledgers.push(...(await ledgersOf(runId, index)))
  const ends = ledgers.map(ranges => ranges.at(-1)?.tickEnd ?? -1)
  return {
    // If nobody indexes, nobody knows what may be removed.
    lastTick: ledgers.length === 0 ? -1 : Math.min(...ends),
    isProcessed: batch => ledgers.length > 0 && ledgers.every(ranges => isWithin(ranges, batch)),
  }
}

async function ledgersOf(runId: string, { address, options, indexers }: FollowingIndex): Promise<TickRange[][]> {
  try {
    await using database = await openIndexForReading(address, runId, options)
    const begun = (await database.ledger.list()).map(({ indexer }) => indexer)
    const names = new Set([...indexers, ...begun])
    return await Promise.all([...names].map(name => (begun.includes(name) ? rangesOf(database, name) : [])))
  } catch (error) {
    if (error instanceof IndexNotFoundError) return indexers.map(() => [])
    throw error
  }
}

async function rangesOf({ ledger }: IndexDatabase, indexer: string): Promise<TickRange[]> {
  const ranges: TickRange[] = []
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = await ledger.processed(indexer, { after: ranges.at(-1)?.tickStart ?? -1, limit: PAGE })
    ranges.push(...page)
    if (page.length < PAGE) break
  }
  return ranges
}

const isWithin = (ranges: readonly TickRange[], { tickStart, tickEnd }: TickRange): boolean =>
  ranges.some(range => range.tickStart <= tickStart && tickEnd <= range.tickEnd)
