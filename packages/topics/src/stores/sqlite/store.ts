import { rmSync } from 'node:fs'

import type { Store } from '../store.ts'
import { sqliteBackfills } from './backfills.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import { DataVersionWatch } from './data-version.ts'
import { sqliteDeadLetters } from './dead-letters.ts'
import { sqliteHeartbeats } from './heartbeats.ts'
import { sqliteInspection } from './inspection.ts'
import { sqliteJobs } from './jobs.ts'
import { SqliteLeases } from './leases.ts'
import { sqliteLog } from './log.ts'
import { dropTables, migrate } from './migrate.ts'
import { SharedRowCache } from './row-cache.ts'
import { mapError } from './sqlite-errors.ts'
import { sqliteSubscriptions } from './subscriptions.ts'
import { sqliteTopics } from './topics.ts'
import { sqliteTracking } from './tracking.ts'

export type SqliteOptions = ConnectionOptions & {
  readonly rowCacheBytes: number
  /** Whether the file belongs to this namespace alone; otherwise it may contain the application's own tables. */
  readonly ownFile: boolean
}

/** How long closing waits at least: a busy disk takes seconds for a sync. */
const DISK_PATIENCE_MS = 2_000

export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const connection = new Connection(options)
  try {
    await connection.prepareForUse()
    await migrate(connection)
    await connection.bind()
    await connection.startClock()
    return assemble(connection, options)
  } catch (error) {
    await connection.close()
    throw mapError(error, options.path)
  }
}

/** The concept objects of an open connection. */
export function assemble(
  connection: Connection,
  { path, rowCacheBytes, ownFile }: Omit<SqliteOptions, 'durability' | 'busyTimeoutMs'>,
): Store {
  const persistent = path !== ':memory:'
  const caches = new SharedRowCache(rowCacheBytes)
  let watch: DataVersionWatch | undefined
  const close = async (withinMs?: number): Promise<void> => {
    watch?.stop()
    caches.clear()
    await connection.close(withinMs === undefined ? undefined : Math.max(withinMs, DISK_PATIENCE_MS))
  }
  return {
    capabilities: { persistent },
    location: path,
    topics: sqliteTopics(connection, caches),
    log: sqliteLog(connection),
    subscriptions: sqliteSubscriptions(connection),
    heartbeats: sqliteHeartbeats(connection),
    leases: new SqliteLeases(connection, caches),
    deadLetters: sqliteDeadLetters(connection),
    tracking: sqliteTracking(connection),
    backfills: sqliteBackfills(connection),
    jobs: sqliteJobs(connection),
    inspection: sqliteInspection(connection),
    watch: wake => {
      // A memory database has no other writers.
      if (persistent) watch ??= new DataVersionWatch(connection, () => wake(null))
    },
    // Other processes see for themselves that the file has changed.
    hint: () => {},
    onGone: tell => connection.guard.onGone(tell),
    dropNamespace: async () => {
      await connection.write(true, dropTables)
      await close()
      if (!persistent || !ownFile || !connection.isSameFile()) return
      const { realPath } = connection
      for (const file of [`${realPath}-wal`, `${realPath}-shm`, realPath, path]) rmSync(file, { force: true })
    },
    close,
  }
}
