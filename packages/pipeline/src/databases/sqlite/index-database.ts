import { existsSync } from 'node:fs'
import { IndexNotFoundError } from '../errors.ts'
import type { IndexDatabase, IndexEngine, IndexSettings } from '../index-database.ts'
import { StoredRemovedTicks } from '../removed-ticks.ts'
import { StoredIdempotencyTracker } from '../stored-idempotency-tracker.ts'
import { StoredLedger } from '../stored-ledger.ts'
import { StoredMetadata } from '../stored-metadata.ts'
import { StoredRetryTracker } from '../stored-retry-tracker.ts'
import { StoredWrittenAs } from '../written-as.ts'
import { Connection } from './connection.ts'
import { IDEMPOTENCY } from './idempotency-tracker.ts'
import { requireInside } from './inside.ts'
import { LEDGER } from './ledger-store.ts'
import { METADATA } from './metadata.ts'
import { checkVersion, migrate, versionsOf } from './migrate.ts'
import { SqliteOrganismRows } from './organism-rows.ts'
import { reclaim } from './reclaim.ts'
import { REMOVED_TICKS } from './removed-ticks.ts'
import { RETRIES } from './retry-tracker.ts'
import { dropRun, isInUse, listRuns, pathOf, probeFolder } from './runs.ts'
import { SqliteSeriesRows } from './series-rows.ts'
import { measureFolder } from './size.ts'
import { SqliteTickBlobs } from './tick-blobs.ts'
import { WRITTEN_AS } from './written-as.ts'

export const sqlite: IndexEngine = {
  open,
  list: listRuns,
  versions,
  probe: probeFolder,
  measure: measureFolder,
  isInUse,
  drop: dropRun,
}

async function versions(address: string, runId: string): Promise<{ found: number; newest: number }> {
  const path = pathOf(address, runId)
  requireInside(path)
  return versionsOf(path)
}

async function open(address: string, runId: string, settings: IndexSettings): Promise<IndexDatabase> {
  const path = pathOf(address, runId)
  requireInside(path)
  if (!settings.create && !existsSync(path)) throw new IndexNotFoundError(runId, path)
  const connection = new Connection(path, settings)
  try {
    await connection.prepareForUse()
    await (settings.readOnly ? checkVersion(connection, runId) : migrate(connection))
  } catch (error) {
    await connection.close()
    throw error
  }
  const close = (): Promise<void> => connection.close()
  return {
    engine: 'sqlite',
    runId,
    location: path,
    metadata: new StoredMetadata(connection, METADATA, runId),
    ledger: new StoredLedger(connection, LEDGER),
    idempotency: new StoredIdempotencyTracker(connection, IDEMPOTENCY),
    retries: new StoredRetryTracker(connection, RETRIES),
    environmentTicks: new SqliteTickBlobs(connection, 'environment_tick'),
    environmentWritten: new StoredWrittenAs(connection, WRITTEN_AS),
    organismTicks: new SqliteTickBlobs(connection, 'organism_tick'),
    removedTicks: new StoredRemovedTicks(connection, REMOVED_TICKS),
    organisms: new SqliteOrganismRows(connection),
    series: new SqliteSeriesRows(connection),
    metrics: () => connection.meter.snapshot(),
    reclaim: () => reclaim(connection),
    transaction: work => connection.transaction(work),
    read: (sql, ...values) => connection.read(sql, ...values),
    close,
    [Symbol.asyncDispose]: close,
  }
}
