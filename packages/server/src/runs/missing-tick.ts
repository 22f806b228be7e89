import { TickNotFoundError } from '../errors.ts'
import type { OpenRun } from './run-indexes.ts'

/** The data of a tick, or the problem that names the ticks next to it. */
export async function foundTick<T>(
  { index }: OpenRun,
  tick: number,
  found: T | null,
  of: 'environment' | 'organisms' = 'environment',
): Promise<T> {
  if (found === null) throw new TickNotFoundError(tick, await index[of].nearest(tick))
  return found
}
