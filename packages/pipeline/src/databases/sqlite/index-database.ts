import { existsSync } from 'node:fs'
import { IndexNotFoundError } from '../errors.ts'
import type { IndexDatabase, IndexEngine, IndexSettings } from '../index-database.ts'
import { Connection } from './connection.ts'
import { SqliteIdempotencyTracker } from './idempotency-tracker.ts'
import { SqliteLedgerStore } from './ledger-store.ts'
import { SqliteMetadata } from './metadata.ts'
import { migrate, versionsOf } from './migrate.ts'
import { SqliteRetryTracker } from './retry-tracker.ts'
import { dropRun, listRuns, pathOf } from './runs.ts'

export const sqlite: IndexEngine = { open, list: listRuns, versions, drop: dropRun }

async function versions(address: string, runId: string): Promise<{ found: number; newest: number }> {
  return versionsOf(pathOf(address, runId))
}

async function open(address: string, runId: string, settings: IndexSettings): Promise<IndexDatabase> {
  const path = pathOf(address, runId)
  if (!settings.create && !existsSync(path)) throw new IndexNotFoundError(runId, path)
  const connection = new Connection(path, settings)
  try {
    await connection.prepareForUse()
    await migrate(connection)
  } catch (error) {
    await connection.close()
    throw error
  }
  const close = (): Promise<void> => connection.close()
  return {
    engine: 'sqlite',
    runId,
    location: path,
    metadata: new SqliteMetadata(connection, runId),
    ledger: new SqliteLedgerStore(connection),
    idempotency: new SqliteIdempotencyTracker(connection),
    retries: new SqliteRetryTracker(connection),
    transaction: work => connection.transaction(work),
    read: (sql, ...values) => connection.read(sql, ...values),
    close,
    [Symbol.asyncDispose]: close,
  }
}
