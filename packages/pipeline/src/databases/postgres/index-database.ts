import { IndexNotFoundError } from '../errors.ts'
import type { IndexDatabase, IndexEngine, IndexSettings } from '../index-database.ts'
import { indexName } from '../index-name.ts'
import { Connection } from './connection.ts'
import { PostgresIdempotencyTracker } from './idempotency-tracker.ts'
import { PostgresLedgerStore } from './ledger-store.ts'
import { PostgresMetadata } from './metadata.ts'
import { checkVersion, migrate, schemaExists } from './migrate.ts'
import { PostgresOrganismRows } from './organism-rows.ts'
import { PostgresRetryTracker } from './retry-tracker.ts'
import { dropRun, listRuns } from './runs.ts'
import { PostgresSeriesRows } from './series-rows.ts'
import { PostgresTickBlobs } from './tick-blobs.ts'

export const postgres: IndexEngine = { open, list: listRuns, drop: dropRun }

async function open(address: string, runId: string, settings: IndexSettings): Promise<IndexDatabase> {
  const connection = new Connection(address, indexName(runId), settings)
  try {
    if (!settings.create && !(await schemaExists(connection))) {
      throw new IndexNotFoundError(runId, connection.location)
    }
    await (settings.readOnly ? checkVersion(connection) : migrate(connection))
  } catch (error) {
    await connection.close()
    throw error
  }
  const close = (): Promise<void> => connection.close()
  return {
    engine: 'postgres',
    runId,
    location: connection.location,
    metadata: new PostgresMetadata(connection, runId),
    ledger: new PostgresLedgerStore(connection),
    idempotency: new PostgresIdempotencyTracker(connection),
    retries: new PostgresRetryTracker(connection),
    environmentTicks: new PostgresTickBlobs(connection, 'environment_tick'),
    organismTicks: new PostgresTickBlobs(connection, 'organism_tick'),
    organisms: new PostgresOrganismRows(connection),
    series: new PostgresSeriesRows(connection),
    transaction: work => connection.transaction(work),
    read: (sql, ...values) => connection.read(sql, ...values),
    close,
    [Symbol.asyncDispose]: close,
  }
}
