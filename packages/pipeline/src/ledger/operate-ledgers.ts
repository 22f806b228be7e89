import { IndexNotFoundError } from '../databases/errors.ts'
import type { IndexDatabase } from '../databases/index-database.ts'
import type { BatchRow } from '../databases/ledger-store.ts'
import { openIndex, openIndexForReading } from '../databases/open-index.ts'
import { BatchLedger } from './batch-ledger.ts'

/** A failed batch of an indexer's ledger. */
export type FailedBatch = BatchRow & {
  /** Name of the indexer. */
  readonly indexer: string
}

/** Selection of failed batches. */
export type FailedQuery = {
  /** Name of an indexer (default: all). */
  readonly indexer?: string
  /** Maximum number of batches. */
  readonly limit?: number
  /** Failed batches after this one (`failedBatchPlace`). */
  readonly after?: string
}

/**
 * Place of a failed batch, to be passed as `after` of the next page. Names of indexers contain no slash.
 *
 * @example
 * const page = await failedBatches(database, { limit: 100 })
 * const last = page.at(-1)
 * if (last) await failedBatches(database, { after: failedBatchPlace(last) })
 */
export const failedBatchPlace = ({ indexer, key }: Pick<FailedBatch, 'indexer' | 'key'>): string => `${indexer}/${key}`

/** Order of the pages. Places compared as text would be sorted differently: 'a-b/…' comes before 'a/…'. */
function byIndexerAndKey(one: FailedBatch, other: FailedBatch): number {
  if (one.indexer !== other.indexer) return one.indexer < other.indexer ? -1 : 1
  return one.key < other.key ? -1 : 1
}

/**
 * Lists failed batches of one indexer, or of all, by key.
 *
 * @example
 * for (const { key, error } of await failedBatches(database, { indexer: 'environment' })) console.log(key, error)
 */
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

/**
 * Makes a failed batch available again. Returns false if the indexer has no such failed batch.
 *
 * @example
 * await retryFailed(database, 'environment', key)
 */
export async function retryFailed(database: IndexDatabase, indexer: string, key: string): Promise<boolean> {
  const start = (await database.ledger.list()).find(ledger => ledger.indexer === indexer)
  if (start === undefined) return false
  const ledger = await BatchLedger.open(database, start)
  return await ledger.retry(key)
}

/** Ledgers of all runs of a pipeline: batches that failed, and can be retried. */
export class RunLedgers {
  readonly #addresses: readonly string[]

  constructor(addresses: readonly string[]) {
    this.#addresses = addresses
  }

  /** Lists failed batches of one indexer, or of all. Rejects with `IndexNotFoundError` if the run has no index. */
  async failed(runId: string, query: FailedQuery = {}): Promise<FailedBatch[]> {
    const found = await this.#each(async address => {
      await using database = await openIndexForReading(address, runId)
      return await failedBatches(database, query)
    })
    const all = found.flat().toSorted(byIndexerAndKey)
    return all.slice(0, query.limit ?? 1_000)
  }

  /** Makes a failed batch available again. Returns false if the indexer has no such failed batch. */
  async retry(runId: string, indexer: string, key: string): Promise<boolean> {
    const found = await this.#each(async address => {
      await using database = await openIndex(address, runId, { create: false })
      return await retryFailed(database, indexer, key)
    })
    return found.includes(true)
  }

  /** A run has an index at one or several addresses; none is an error. */
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
