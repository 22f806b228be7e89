import type { Runtime } from '../runtime.ts'
import { parseTopicOptions, type TopicConfig, type TopicOptions, type Tracking } from '../topic-config.ts'
import { type Lanes, type LanesOptions, lanes } from './lanes.ts'
import { type ConfigPreview, previewTopic } from './previews.ts'
import { type DescribedTopic, deleteTopic, describeTopic, type TopicSummary, topics } from './topics.ts'
import { setTracking } from './tracking.ts'

/** The part of `tm.admin` for topics. */
export type TopicAdmin<Name extends string = string> = {
  /**
   * List topics with their settings.
   *
   * @example
   * for (const { topic, config } of await tm.admin.topics()) console.log(topic, config.semantics)
   */
  topics(): Promise<TopicSummary[]>
  /**
   * Describe a topic: its settings and the position of each group. Cheap: it does not scan the log.
   *
   * @example
   * const { config, messagesPublished, groups } = await tm.admin.describeTopic('orders')
   */
  describeTopic(topic: Name): Promise<DescribedTopic>
  /**
   * Return a part of a log, with the position of each group and what it holds, retries and has dead-lettered. Cheap: it
   * does not scan the log.
   *
   * @example
   * const { first, last, groups } = await tm.admin.lanes('orders', { buckets: 100 })
   */
  lanes(topic: Name, options?: LanesOptions): Promise<Lanes>
  /**
   * Create a topic, or change the given settings of an existing one.
   *
   * @example
   * await tm.admin.configureTopic('orders', { retention: '7d' })
   */
  configureTopic(topic: Name, options?: TopicOptions): Promise<TopicConfig>
  /**
   * Show what `configureTopic` would change on an existing topic, without changing it.
   *
   * @example
   * const { changes, mayRemove } = await tm.admin.previewTopic('orders', { retention: '1h' })
   */
  previewTopic(topic: Name, options: TopicOptions): Promise<ConfigPreview>
  /**
   * Delete a topic with all its messages. Its groups stop in every process with `SubscriptionGoneError`.
   *
   * @example
   * await tm.admin.deleteTopic('orders')
   */
  deleteTopic(topic: Name): Promise<void>
  /**
   * Change the tracking mode while groups keep running. Resolves when all retained messages are tracked in the new
   * mode.
   *
   * @example
   * await tm.admin.setTracking('orders', 'reference')
   */
  setTracking(
    topic: Name,
    to: Tracking,
    options?: { onProgress?: (progress: { readonly pages: number }) => void },
  ): Promise<void>
}

export const topicAdmin = (runtime: Runtime): TopicAdmin => ({
  topics: () => topics(runtime),
  describeTopic: topic => describeTopic(runtime, topic),
  lanes: (topic, options) => lanes(runtime, topic, options),
  async configureTopic(topic, options) {
    runtime.assertOpen()
    return (await runtime.topics.configure(topic, parseTopicOptions(options))).config
  },
  previewTopic: (topic, options) => previewTopic(runtime, topic, options),
  deleteTopic: topic => deleteTopic(runtime, topic),
  setTracking: (topic, to, options) => setTracking(runtime, topic, to, options),
})
