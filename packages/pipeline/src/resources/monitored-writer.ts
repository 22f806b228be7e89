import type { PublishedRef, PublishOptions, Tidemark } from 'tidemark'
import type { BindingMeter } from './binding-meter.ts'

/** Writer to a topic that counts the traffic of its binding. */
export class MonitoredWriter<T> {
  /** Name of the topic. */
  readonly topic: string
  readonly #topics: Tidemark
  readonly #meter: BindingMeter

  /** @internal */
  constructor(topics: Tidemark, topic: string, meter: BindingMeter) {
    this.topic = topic
    this.#topics = topics
    this.#meter = meter
  }

  /** Publishes a message. */
  async send(payload: T, options?: PublishOptions): Promise<PublishedRef> {
    const ref = await this.#meter.measure(undefined, () => this.#topics.publish(this.topic, payload, options))
    this.#meter.count(ref.duplicate ? 'duplicates' : 'sent')
    return ref
  }
}
