import { IndexNotFoundError } from '../databases/errors.ts'
import type { IndexDatabase } from '../databases/index-database.ts'
import type { BatchRow } from '../databases/ledger-store.ts'
import { openIndex, openIndexForReading } from '../databases/open-index.ts'
import { BatchLedger } from './batch-ledger.ts'

/** A batch that an indexer has given up, as its ledger has it. */
export type FailedBatch = BatchRow & { readonly indexer: string }

export type FailedQuery = {
  readonly indexer?: string
  readonly limit?: number
  /** Those behind this batch (`failedBatchPlace`). */
  readonly after?: string
}

/** Indexers have no slash in their names. */
export const failedBatchPlace = ({ indexer, key }: Pick<FailedBatch, 'indexer' | 'key'>): string => `${indexer}/${key}`

/** As pages are read. Places as texts would sort otherwise: 'a-b/…' comes before 'a/…'. */
function byIndexerAndKey(one: FailedBatch, other: FailedBatch): number {
  if (one.indexer !== other.indexer) return one.indexer < other.indexer ? -1 : 1
  return one.key < other.key ? -1 : 1
}

/** Of one indexer of a run, or of all; by key. */
export async function failedBatches(database: IndexDatabase, query: FailedQuery = {}): Promise<FailedBatch[]> {
  const { indexer: wanted, limit = 1_000, after = '' } = query
  const [startIndexer = '', startKey = ''] = after.split(/\/(.*)/s)
  const failed: FailedBatch[] = []
  const ledgers = (await database.ledger.list()).toSorted((one, other) => (one.indexer < other.indexer ? -1 : 1))
  for (const { indexer } of ledgers) {
    if ((wanted !== undefined && indexer !== wanted) || indexer < startIndexer) continue
    const from = indexer === startIndexer ? startKey : ''
    const rows = await database.ledger.failed(indexer, { after: from, limit: limit - failed.length })
    failed.push(...rows.map(row => ({ ...row, indexer })))
    if (failed.length >= limit) break
  }
  return failed
}

/** Lets a failed batch be claimed again; false where that indexer has no such batch that failed. */
export async function retryFailed(database: IndexDatabase, indexer: string, key: string): Promise<boolean> {
  const start = (await database.ledger.list()).find(ledger => ledger.indexer === indexer)
  if (start === undefined) return false
  const ledger = await BatchLedger.open(database, start)
  return await ledger.retry(key)
}

/** The ledgers of all runs at these addresses: what failed for good, and may be tried again. */
export class RunLedgers {
  readonly #addresses: readonly string[]

  constructor(addresses: readonly string[]) {
    this.#addresses = addresses
  }

  /** Of one indexer, or of all. Rejects with `IndexNotFoundError` where the run has no index. */
  async failed(runId: string, query: FailedQuery = {}): Promise<FailedBatch[]> {
    const found = await this.#each(async address => {
      await using database = await openIndexForReading(address, runId)
      return await failedBatches(database, query)
    })
    const all = found.flat().toSorted(byIndexerAndKey)
    return all.slice(0, query.limit ?? 1_000)
  }

  /** False where that indexer has no such batch that failed. */
  async retry(runId: string, indexer: string, key: string): Promise<boolean> {
    const found = await this.#each(async address => {
      await using database = await openIndex(address, runId, { create: false })
      return await retryFailed(database, indexer, key)
    })
    return found.includes(true)
  }

  /** A run has an index at one address, or at several; at none is an error. */
  async #each<T>(work: (address: string) => Promise<T>): Promise<T[]> {
    const results: T[] = []
    let missing: unknown
    for (const address of this.#addresses) {
      try {
        results.push(await work(address))
      } catch (error) {
        if (!(error instanceof IndexNotFoundError)) throw error
        missing = error
      }
    }
    if (results.length === 0 && missing !== undefined) throw missing
    return results
  }
}
