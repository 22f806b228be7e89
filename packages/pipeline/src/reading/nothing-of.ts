import { TickRemovedError } from '../databases/errors.ts'
import type { IndexDatabase } from '../databases/index-database.ts'

/** For a tick that is not in the index: null if it is not indexed yet, an error if it was removed. */
export async function nothingOf({ runId, removedTicks }: IndexDatabase, tick: number): Promise<null> {
  const removed = await removedTicks.rangeOf(tick)
  if (removed !== null) throw new TickRemovedError(runId, tick, removed)
  return null
}
