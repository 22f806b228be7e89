import { existsSync } from 'node:fs'
import { IndexNotFoundError } from '../errors.ts'
import type { IndexDatabase, IndexEngine, IndexSettings } from '../index-database.ts'
import { indexParts } from '../sql/index-parts.ts'
import { SqliteConnection } from './connection.ts'
import { requireInside } from './inside.ts'
import { checkVersion, migrate, versionsOf } from './migrate.ts'
import { reclaim } from './reclaim.ts'
import { dropRun, isInUse, listRuns, pathOf, probeFolder } from './runs.ts'
import { measureFolder, sizeOfIndex } from './size.ts'

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
  const connection = new SqliteConnection(path, settings)
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
    ...indexParts(connection, runId),
    metrics: () => connection.meter.snapshot(),
    size: () => sizeOfIndex(path),
    reclaim: () => reclaim(connection),
    transaction: work => connection.transaction(work),
    read: (sql, ...values) => connection.read(sql, ...values),
    close,
    [Symbol.asyncDispose]: close,
  }
}
