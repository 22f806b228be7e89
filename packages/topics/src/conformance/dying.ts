import type { Tidemark } from '../index.ts'
import type { ConformanceDatabase } from './conformance-store.ts'

/** Heartbeat timeout of a group without its own. */
export const TIMEOUT_MS = 300_000
export const MISSES = 3

/** Lets as many timeouts pass as it takes to declare the silent groups dead, running the detector after each. */
export async function letDie(tm: Tidemark, database: ConformanceDatabase, timeoutMs = TIMEOUT_MS): Promise<void> {
  for (let miss = 0; miss < MISSES; miss++) {
    await database.ageGroups(timeoutMs + 1_000)
    await tm.admin.jobs['dead-groups'].runOnce()
  }
}
