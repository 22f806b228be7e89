import { IndexNotFoundError } from '../databases/errors.ts'
import type { IndexDatabase } from '../databases/index-database.ts'
import { openIndexForReading } from '../databases/open-index.ts'
import { isEnvironmentFault } from '../faults.ts'
import { readDummyTotals } from '../services/indexing/dummy-indexer.ts'

/** Content of a run's index. */
export type IndexTotals = {
  /** Number of ticks of the indexer with the most. */
  readonly ticks: number
  /** Number of batches. */
  readonly batches: number
  /** Number of cells, counted by the dummy indexer; null if it has not indexed all ticks. */
  readonly cells: number | null
  /** Number of organisms, or null. */
  readonly organisms: number | null
}

const NOTHING: IndexTotals = { ticks: 0, batches: 0, cells: null, organisms: null }
const NOTHING_COUNTED = { ticks: 0, batches: 0, cells: 0, organisms: 0 }

export async function totalsOf(address: string, runId: string): Promise<IndexTotals> {
  try {
    await using index = await openIndexForReading(address, runId)
    return await countIn(index)
  } catch (error) {
    // Stopped before there was an index, or while it is unavailable: there are no totals.
    if (error instanceof IndexNotFoundError || isEnvironmentFault(error)) return NOTHING
    throw error
  }
}

async function countIn(index: IndexDatabase): Promise<IndexTotals> {
  // Without a dummy indexer its tables do not exist.
  const counted = await readDummyTotals(index).catch(() => NOTHING_COUNTED)
  const ledgers = await index.ledger.list()
  const ofLedgers = await Promise.all(ledgers.map(({ indexer }) => index.ledger.counts(indexer)))
  const ranges = await Promise.all([index.environmentTicks.range(), index.organismTicks.range()])
  const processed = await Promise.all(
    ledgers.map(({ indexer, samplingInterval }) => ticksOf(index, indexer, samplingInterval)),
  )
  const ticks = Math.max(counted.ticks, ...ranges.map(range => range?.ticks ?? 0), ...processed)
  const batches = Math.max(counted.batches, ...ofLedgers.map(({ completed, recorded }) => completed + recorded))
  const isCounted = counted.ticks === ticks
  return { ticks, batches, cells: isCounted ? counted.cells : null, organisms: isCounted ? counted.organisms : null }
}

/** For an indexer with its own tables: from the ranges of its ledger, the first thousand. */
async function ticksOf(index: IndexDatabase, indexer: string, samplingInterval: number): Promise<number> {
  const ranges = await index.ledger.processed(indexer, { after: -1, limit: 1_000 })
  return ranges.reduce(
    (sum, { tickStart, tickEnd }) => sum + Math.floor((tickEnd - tickStart) / samplingInterval) + 1,
    0,
  )
}
