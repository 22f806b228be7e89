import type { Tidemark } from 'tidemark'
import { openPostgres } from '../../src/stores/postgres/store.ts'
import { openSqlite } from '../../src/stores/sqlite/store.ts'
import type { Store } from '../../src/stores/store.ts'
import { SILENT, type TestDatabase } from './stores.ts'

/** A heartbeat timeout of a group that says nothing else. */
export const TIMEOUT_MS = 300_000
export const MISSES = 3

/** Lets as many timeouts pass as it takes to count the silent groups as dead, with the detector run after each. */
export async function letDie(tm: Tidemark, database: TestDatabase, timeoutMs = TIMEOUT_MS): Promise<void> {
  for (let miss = 0; miss < MISSES; miss++) {
    await database.passTime(timeoutMs + 1_000)
    await tm.admin.jobs['dead-groups'].runOnce()
  }
}

/** The store itself, for what the public API has no verb for. */
export async function openStore({ url }: TestDatabase): Promise<Store> {
  if (!url.startsWith('sqlite:')) {
    return await openPostgres({ url, namespace: 'default', poolSize: 4, rowCacheBytes: 1_000_000, logger: SILENT })
  }
  const path = url.slice('sqlite:'.length)
  return await openSqlite({
    path,
    durability: 'process',
    busyTimeoutMs: 10_000,
    ownFile: true,
    rowCacheBytes: 1_000_000,
  })
}
