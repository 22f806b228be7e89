import type { Tidemark } from 'tidemark'
import type { TopicEnvelope } from '../../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { configureNotificationTopic } from '../notification-topics.ts'
import type { ServiceContext } from '../service.ts'
import { attempt, type RetryPolicy } from './attempts.ts'

/** Says on a topic that a file is stored, under the file's own key. */
export class Announcer {
  readonly topic: string
  readonly #topics: Tidemark
  readonly #policy: RetryPolicy
  #sent = 0
  #failed = 0

  constructor(topics: Tidemark, topic: string, policy: RetryPolicy) {
    this.#topics = topics
    this.topic = topic
    this.#policy = policy
  }

  async prepare(): Promise<void> {
    await configureNotificationTopic(this.#topics, this.topic)
  }

  /**
   * Topics that are away are waited for. False where it was refused, or the service has to stop: the file is stored, and the
   * reconciler announces it later.
   */
  async announce(storageKey: string, envelope: TopicEnvelope, context: ServiceContext): Promise<boolean> {
    const publish = () => this.publish(storageKey, envelope)
    const outcome = await attempt(publish, this.#policy, { ...context, operation: 'announce', about: storageKey })
    if ('value' in outcome) return true
    this.#failed++
    return false
  }

  /** True where it was not announced before. */
  async publish(storageKey: string, envelope: TopicEnvelope): Promise<boolean> {
    const { duplicate } = await this.#topics.publish(this.topic, envelope, { messageId: storageKey })
    if (!duplicate) this.#sent++
    return !duplicate
  }

  get metrics(): { notificationsSent: number; notificationsFailed: number } {
    return { notificationsSent: this.#sent, notificationsFailed: this.#failed }
  }
}
