import type { IndexConnection } from '../index-connection.ts'
import type { IndexParts } from '../index-database.ts'
import { StoredIdempotencyTracker } from './idempotency-tracker.ts'
import { StoredLedger } from './ledger-store.ts'
import { StoredMetadata } from './metadata.ts'
import { StoredOrganismRows } from './organism-rows.ts'
import { type RemovedPeak, StoredRemovedTicks } from './removed-ticks.ts'
import { StoredRetryTracker } from './retry-tracker.ts'
import { StoredSeriesRows } from './series-rows.ts'
import { StoredTickBlobs } from './tick-blobs.ts'
import { StoredWrittenAs } from './written-as.ts'

/** Content of an index on either engine. */
export const indexParts = (connection: IndexConnection, runId: string, peak?: RemovedPeak): IndexParts => ({
  metadata: new StoredMetadata(connection, runId),
  ledger: new StoredLedger(connection),
  idempotency: new StoredIdempotencyTracker(connection),
  retries: new StoredRetryTracker(connection),
  environmentTicks: new StoredTickBlobs(connection, 'environment_tick'),
  environmentWritten: new StoredWrittenAs(connection),
  organismTicks: new StoredTickBlobs(connection, 'organism_tick'),
  removedTicks: new StoredRemovedTicks(connection, peak),
  organisms: new StoredOrganismRows(connection),
  series: new StoredSeriesRows(connection),
})
