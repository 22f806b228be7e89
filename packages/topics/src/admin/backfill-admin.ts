import type { BackfillOptions } from '../backfill/backfill-plan.ts'
import type { From } from '../consume/start-position.ts'
import type { Runtime } from '../runtime.ts'
import type { BackfillProgress } from './backfill-progress.ts'
import { cancel, progress, resume, start } from './backfills.ts'

/** The part of `tm.admin` for backfills. */
export type BackfillAdmin<Name extends string = string> = {
  /**
   * Deliver earlier messages of a reference topic to a group, from a position up to now.
   *
   * @example
   * await tm.admin.startBackfill('orders', 'audit', { from: 'beginning', maxPerSecond: 5_000 })
   */
  startBackfill(topic: Name, group: string, options?: BackfillOptions & { from?: From }): Promise<BackfillProgress>
  /**
   * Return the progress of the last backfill of a group, or undefined.
   *
   * @example
   * const progress = await tm.admin.backfill('orders', 'audit')
   */
  backfill(topic: Name, group: string): Promise<BackfillProgress | undefined>
  /**
   * Cancel a backfill. Messages delivered so far remain.
   *
   * @example
   * await tm.admin.cancelBackfill('orders', 'audit')
   */
  cancelBackfill(topic: Name, group: string): Promise<BackfillProgress>
  /**
   * Resume a cancelled or failed backfill at its checkpoint.
   *
   * @example
   * await tm.admin.resumeBackfill('orders', 'audit')
   */
  resumeBackfill(topic: Name, group: string): Promise<BackfillProgress>
}

export const backfillAdmin = (runtime: Runtime): BackfillAdmin => ({
  startBackfill: (topic, group, options) => start(runtime, topic, group, options),
  backfill: (topic, group) => progress(runtime, topic, group),
  cancelBackfill: (topic, group) => cancel(runtime, topic, group),
  resumeBackfill: (topic, group) => resume(runtime, topic, group),
})
