import { parseBackfill } from '../backfill/backfill-plan.ts'
import type { Options } from '../options/options.ts'
import type { HeartbeatSettings } from '../stores/subscription-record.ts'
import type { SubscriptionSettings } from '../stores/subscriptions.ts'
import { parseHeartbeat } from './heartbeat-options.ts'

/** The subscription options of a group or reader. */
export function parseSubscription(
  what: string,
  options: Options,
  heartbeatDefaults: HeartbeatSettings,
): SubscriptionSettings {
  const heartbeat = parseHeartbeat(`${what}.heartbeat`, options.nested('heartbeat'))
  const { plan, limit } = parseBackfill(`${what}.backfill`, options.value('backfill'))
  return {
    heartbeat,
    heartbeatDefaults,
    ...(plan !== undefined && { backfill: plan }),
    ...(limit !== undefined && { backfillLimit: limit }),
  }
}
