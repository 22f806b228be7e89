import type { Backfills } from '../backfill/backfills.ts'
import type { Instrumentation } from '../instrumentation.ts'
import type { Store } from '../stores/store.ts'
import { BackfillTakeOver } from './backfills.ts'
import { DeadGroups } from './dead-groups.ts'
import type { Job } from './job.ts'
import { MessageCleanUp } from './messages.ts'
import type { MaintenanceSettings } from './presets.ts'
import { Subscriptions } from './subscriptions.ts'

/** Every job there is; `JOB_NAMES` has their names. */
export const createJobs = (
  store: Store,
  instrumentation: Instrumentation,
  backfills: Backfills,
  settings: MaintenanceSettings,
): Job[] => [
  new DeadGroups(store, instrumentation, settings.detectEveryMs),
  new MessageCleanUp(store, instrumentation, { everyMs: settings.cleanUpEveryMs, batchSize: settings.cleanUpBatch }),
  new Subscriptions(store, instrumentation, settings.subscriptionRetentionMs),
  new BackfillTakeOver(store, backfills, settings.detectEveryMs),
]
