import type { IndexDatabase } from '../databases/index-database.ts'
import type { BatchRow } from '../databases/ledger-store.ts'
import { BatchLedger } from './batch-ledger.ts'

/** A batch that an indexer has given up, as its ledger has it. */
export type FailedBatch = BatchRow & { readonly indexer: string }

export type FailedQuery = { readonly indexer?: string; readonly limit?: number }

/** Of one indexer of a run, or of all; by key. */
export async function failedBatches(database: IndexDatabase, query: FailedQuery = {}): Promise<FailedBatch[]> {
  const { indexer: wanted, limit = 1_000 } = query
  const failed: FailedBatch[] = []
  for (const { indexer } of await database.ledger.list()) {
    if (wanted !== undefined && indexer !== wanted) continue
    const rows = await database.ledger.failed(indexer, { after: '', limit: limit - failed.length })
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
