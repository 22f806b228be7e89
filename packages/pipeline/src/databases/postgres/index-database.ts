import { IndexNotFoundError } from '../errors.ts'
import type { IndexDatabase, IndexEngine, IndexSettings } from '../index-database.ts'
import { indexName } from '../index-name.ts'
import { StoredRemovedTicks } from '../removed-ticks.ts'
import { StoredIdempotencyTracker } from '../stored-idempotency-tracker.ts'
import { StoredLedger } from '../stored-ledger.ts'
import { StoredMetadata } from '../stored-metadata.ts'
import { StoredRetryTracker } from '../stored-retry-tracker.ts'
import { StoredWrittenAs } from '../written-as.ts'
import { Connection } from './connection.ts'
import { IDEMPOTENCY } from './idempotency-tracker.ts'
import { LEDGER } from './ledger-store.ts'
import { METADATA } from './metadata.ts'
import { checkVersion, migrate, schemaExists, versionsOf } from './migrate.ts'
import { PostgresOrganismRows } from './organism-rows.ts'
import { reclaim } from './reclaim.ts'
import { REMOVED_TICKS } from './removed-ticks.ts'
import { RETRIES } from './retry-tracker.ts'
import { dropRun, LISTING, listRuns, probeServer } from './runs.ts'
import { PostgresSeriesRows } from './series-rows.ts'
import { measureServer } from './size.ts'
import { PostgresTickBlobs } from './tick-blobs.ts'
import { WRITTEN_AS } from './written-as.ts'

export const postgres: IndexEngine = {
  open,
  list: listRuns,
  versions,
  probe: probeServer,
  measure: measureServer,
  // A pool lets go of its connections while there is nothing to do.
  isInUse: async () => false,
  drop: dropRun,
}

async function versions(address: string, runId: string): Promise<{ found: number; newest: number }> {
  const connection = new Connection(address, indexName(runId), LISTING)
  try {
    return await versionsOf(connection)
  } finally {
    await connection.close()
  }
}

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
    metadata: new StoredMetadata(connection, METADATA, runId),
    ledger: new StoredLedger(connection, LEDGER),
    idempotency: new StoredIdempotencyTracker(connection, IDEMPOTENCY),
    retries: new StoredRetryTracker(connection, RETRIES),
    environmentTicks: new PostgresTickBlobs(connection, 'environment_tick'),
    environmentWritten: new StoredWrittenAs(connection, WRITTEN_AS),
    organismTicks: new PostgresTickBlobs(connection, 'organism_tick'),
    removedTicks: new StoredRemovedTicks(connection, REMOVED_TICKS),
    organisms: new PostgresOrganismRows(connection),
    series: new PostgresSeriesRows(connection),
    metrics: () => connection.meter.snapshot(),
    reclaim: () => reclaim(connection),
    transaction: work => connection.transaction(work),
    read: (sql, ...values) => connection.read(sql, ...values),
    close,
    [Symbol.asyncDispose]: close,
  }
}
