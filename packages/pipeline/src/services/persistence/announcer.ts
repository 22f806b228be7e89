import type { Tidemark } from 'tidemark'
import type { TopicEnvelope } from '../../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { BindingMeter } from '../../resources/binding-meter.ts'
import { runIdOfKey } from '../../storage/keys.ts'
import { type AnnouncementSettings, configureNotificationTopic, topicOfRun } from '../notification-topics.ts'
import type { ServiceContext } from '../service.ts'
import { attempt, type RetryPolicy } from './attempts.ts'

/** Options of a service that announces what it has stored. */
export type AnnouncingOptions = {
  /** Settings of topics that it creates for new runs. */
  readonly settings?: AnnouncementSettings
  /**
   * Counts what is announced: that of a service's binding.
   *
   * @internal
   */
  readonly meter?: BindingMeter
}

/** Announces a stored file on the topic of its run, under the file's own key. */
export class Announcer {
  readonly topic: string
  readonly #topics: Tidemark
  readonly #policy: RetryPolicy
  readonly #settings: AnnouncementSettings
  readonly #meter: BindingMeter
  #sent = 0
  #failed = 0

  constructor(topics: Tidemark, topic: string, policy: RetryPolicy, { settings = {}, meter }: AnnouncingOptions = {}) {
    this.#topics = topics
    this.topic = topic
    this.#policy = policy
    this.#settings = settings
    this.#meter = meter ?? new BindingMeter('', { kind: 'topic-write', name: topic })
  }

  /**
   * Waits for unavailable topics. False if it was refused, or the service has to stop: the file is stored, and the
   * reconciler announces it later.
   */
  async announce(storageKey: string, envelope: TopicEnvelope, context: ServiceContext): Promise<boolean> {
    const publish = () => this.publish(storageKey, envelope)
    const outcome = await attempt(publish, this.#policy, { ...context, operation: 'announce', about: storageKey })
    if ('value' in outcome) return true
    this.#failed++
    return false
  }

  /** True if it was not announced before. */
  async publish(storageKey: string, envelope: TopicEnvelope): Promise<boolean> {
    const meter = this.#meter
    const isNew = await meter.measure(undefined, () => this.#publish(storageKey, envelope))
    meter.count(isNew ? 'sent' : 'duplicates')
    if (isNew) this.#sent++
    return isNew
  }

  async #publish(storageKey: string, envelope: TopicEnvelope): Promise<boolean> {
    const topic = topicOfRun(this.topic, runIdOfKey(storageKey))
    // Each time: publishing to a topic that was removed meanwhile would create a queue.
    await configureNotificationTopic(this.#topics, topic, this.#settings)
    const { duplicate } = await this.#topics.publish(topic, envelope, { messageId: storageKey })
    return !duplicate
  }

  get metrics(): { notificationsSent: number; notificationsFailed: number } {
    return { notificationsSent: this.#sent, notificationsFailed: this.#failed }
  }
}
