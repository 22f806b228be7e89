import { MembershipError } from '../errors.ts'
import type { Runtime } from '../runtime.ts'
import type { StartPosition, SubscriptionRecord } from '../stores/subscription-record.ts'
import type { SubscriptionSettings } from '../stores/subscriptions.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { withFreeBit } from './free-bits.ts'

export type Subscribed = { readonly topic: TopicRecord; readonly subscription: SubscriptionRecord }

/** For pulls: the group's subscription, created or resurrected if necessary. */
export async function subscribe(
  runtime: Runtime,
  name: string,
  label: string,
  from: StartPosition,
  settings: SubscriptionSettings,
): Promise<Subscribed> {
  const topic = await runtime.topics.toConsume(name)
  const isQueue = topic.config.semantics === 'queue'
  if (!isQueue && label === '') {
    throw new MembershipError(`Topic '${name}' is pub-sub: give the reader a group`)
  }
  const group = isQueue ? '' : label
  const subscription = await withFreeBit(runtime, () =>
    runtime.store.subscriptions.subscribe(topic, group, from, settings),
  )
  await runtime.backfills.start(topic, subscription)
  if (subscription.resurrected) {
    runtime.instrumentation.resurrected({ topic: topic.name, group }, subscription.resurrected)
  }
  return { topic, subscription }
}
