import type { Runtime } from '../runtime.ts'
import type { TopicDescription } from '../stores/inspection.ts'
import type { TopicConfig } from '../topic-config.ts'
import { findTopic } from './find-records.ts'

/** A topic with its settings. */
export type TopicSummary = {
  /** Name of the topic. */
  readonly topic: string
  /** Effective settings. */
  readonly config: TopicConfig
}

/** A topic with its settings, counts and groups. */
export type DescribedTopic = TopicSummary & TopicDescription

/** As the database has it now. */
export async function describeTopic(runtime: Runtime, name: string): Promise<DescribedTopic> {
  const topic = await findTopic(runtime, name)
  return { topic: name, config: topic.config, ...(await runtime.store.inspection.describe(topic)) }
}

/** Sorted by name. */
export async function topics(runtime: Runtime): Promise<TopicSummary[]> {
  runtime.assertOpen()
  const records = await runtime.store.topics.list()
  return records.map(({ name, config }) => ({ topic: name, config }))
}

/**
 * Deletes its messages, groups and dead letters too. Running groups stop in every process with a SubscriptionGoneError.
 */
export async function deleteTopic(runtime: Runtime, name: string): Promise<void> {
  const topic = await findTopic(runtime, name)
  await runtime.store.topics.delete(topic)
  runtime.topics.forget(name)
  runtime.instrumentation.emit('topic-deleted', { topic: name })
  runtime.wakeHub.wake(topic.id)
  runtime.store.hint(topic.id)
}
