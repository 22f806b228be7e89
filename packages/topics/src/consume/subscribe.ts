import { MembershipError } from '../errors.ts'
import type { StartPosition, SubscriptionRecord } from '../stores/subscription-record.ts'
import type { SubscriptionSettings } from '../stores/subscriptions.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import type { Engine } from './engine.ts'
import { withRoom } from './room.ts'

export type Subscribed = { readonly topic: TopicRecord; readonly subscription: SubscriptionRecord }

/** For whoever pulls: the group's subscription, made or brought back where that is needed. */
export async function subscribe(
  engine: Engine,
  name: string,
  label: string,
  from: StartPosition,
  settings: SubscriptionSettings,
): Promise<Subscribed> {
  const topic = await engine.topics.toConsume(name)
  const isQueue = topic.config.semantics === 'queue'
  if (!isQueue && label === '') {
    throw new MembershipError(`Topic '${name}' is pub-sub: give the reader a group`)
  }
  const group = isQueue ? '' : label
  const subscription = await withRoom(engine, () => engine.store.subscriptions.subscribe(topic, group, from, settings))
  await engine.backfills.start(topic, subscription)
  if (subscription.resurrected) {
    engine.instrumentation.resurrected({ topic: topic.name, group }, subscription.resurrected)
  }
  return { topic, subscription }
}
