import { TickRemovedError } from '../databases/errors.ts'
import type { IndexDatabase } from '../databases/index-database.ts'

/** Of a tick that is not in the index: null where it is not there yet; one that was removed is an error that says so. */
export async function nothingOf({ runId, removedTicks }: IndexDatabase, tick: number): Promise<null> {
  const removed = await removedTicks.rangeOf(tick)
  if (removed !== null) throw new TickRemovedError(runId, tick, removed)
  return null
}
