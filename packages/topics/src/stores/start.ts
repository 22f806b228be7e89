import { DEFAULT_BACKFILL } from '../backfill/backfill-plan.ts'
import { ConfigError } from '../errors.ts'
import type { BackfillPlan } from './backfills.ts'
import type { StartPosition } from './subscription-record.ts'
import type { SubscriptionSettings } from './subscriptions.ts'
import type { TopicRecord } from './topic-record.ts'

/**
 * Where a new group starts, and which messages its backfill delivers. A queue delivers all of its messages to its
 * first consumer.
 *
 * @example
 * const { start, plan } = startOf(topic, 'beginning', { backfill: false }, topic.config.tracking === 'reference')
 */
export function startOf(
  { config, name }: TopicRecord,
  from: StartPosition,
  { backfill }: SubscriptionSettings,
  byReference: boolean,
): { readonly start: StartPosition; readonly plan: BackfillPlan } {
  if (config.semantics === 'queue') return { start: 'beginning', plan: DEFAULT_BACKFILL }
  const plan = backfill || DEFAULT_BACKFILL
  const start = backfill === false ? 'now' : from
  if (plan.scope === 'pending' && !byReference && start !== 'now') {
    const allowed = `'retained' in topic '${name}': it is tracked by offset, which doesn't know single messages`
    throw new ConfigError('backfill.scope', 'pending', allowed)
  }
  return { start, plan }
}
