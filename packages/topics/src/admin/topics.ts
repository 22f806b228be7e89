import type { Engine } from '../consume/engine.ts'
import type { TopicConfig } from '../topic-config.ts'
import { findTopic } from './scope.ts'

/** A topic with its settings. */
export type TopicSummary = {
  /** Name of the topic. */
  readonly topic: string
  /** Effective settings. */
  readonly config: TopicConfig
}

/** By name. */
export async function topics(engine: Engine): Promise<TopicSummary[]> {
  engine.assertOpen()
  const records = await engine.store.topics.list()
  return records.map(({ name, config }) => ({ topic: name, config }))
}

/** With its messages, groups and dead letters. Groups that run, in any process, stop with a SubscriptionGoneError. */
export async function deleteTopic(engine: Engine, name: string): Promise<void> {
  const topic = await findTopic(engine, name)
  await engine.store.topics.delete(topic)
  engine.topics.forget(name)
  engine.instrumentation.emit('topic-deleted', { topic: name })
  engine.wakeHub.wake(topic.id)
  engine.store.hint(topic.id)
}
