import { IndexNotFoundError } from '../errors.ts'
import type { IndexDatabase, IndexEngine, IndexSettings } from '../index-database.ts'
import { indexName } from '../index-name.ts'
import { indexParts } from '../sql/index-parts.ts'
import { PostgresConnection } from './connection.ts'
import { loadDriver } from './driver.ts'
import { checkVersion, migrate, schemaExists, versionsOf } from './migrate.ts'
import { reclaim } from './reclaim.ts'
import { REMOVED_PEAK } from './removed-peak.ts'
import { dropRun, LISTING, listRuns, probeServer } from './runs.ts'
import { measureServer, sizeOfIndex } from './size.ts'

export { loadDriver }

export const postgres: IndexEngine = {
  open,
  list: listRuns,
  versions,
  probe: probeServer,
  measure: measureServer,
  // The pool closes connections that are idle.
  isInUse: async () => false,
  drop: dropRun,
}

async function versions(address: string, runId: string): Promise<{ found: number; newest: number }> {
  const connection = new PostgresConnection(address, indexName(runId), LISTING)
  try {
    return await versionsOf(connection)
  } finally {
    await connection.close()
  }
}

async function open(address: string, runId: string, settings: IndexSettings): Promise<IndexDatabase> {
  const connection = new PostgresConnection(address, indexName(runId), settings)
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
    ...indexParts(connection, runId, REMOVED_PEAK),
    metrics: () => connection.meter.snapshot(),
    size: () => sizeOfIndex(connection),
    reclaim: () => reclaim(connection),
    transaction: work => connection.transaction(work),
    read: (sql, ...values) => connection.read(sql, ...values),
    close,
    [Symbol.asyncDispose]: close,
  }
}
