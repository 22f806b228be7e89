import type { BackfillRunner } from '../backfill/backfill-runner.ts'
import type { Instrumentation } from '../observe/instrumentation.ts'
import type { Store } from '../stores/store.ts'
import { BackfillTakeOver } from './backfill-take-over.ts'
import { DeadGroups } from './dead-groups.ts'
import type { Job } from './job.ts'
import { MessageCleanUp } from './message-clean-up.ts'
import type { MaintenanceSettings } from './presets.ts'
import { SubscriptionCleanUp } from './subscription-clean-up.ts'

/** Every job; `JOB_NAMES` has their names. */
export const createJobs = (
  store: Store,
  instrumentation: Instrumentation,
  backfills: BackfillRunner,
  settings: MaintenanceSettings,
): Job[] => [
  new DeadGroups(store, instrumentation, settings.detectEveryMs),
  new MessageCleanUp(store, instrumentation, { everyMs: settings.cleanUpEveryMs, batchSize: settings.cleanUpBatch }),
  new SubscriptionCleanUp(store, instrumentation, settings.subscriptionRetentionMs),
  new BackfillTakeOver(store, backfills, settings.detectEveryMs),
]
