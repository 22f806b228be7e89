import type { Delivery, Duration, Reader, WaitOptions } from 'tidemark'
import type { BindingMeter } from './binding-meter.ts'

/** Reader of a topic that counts the traffic of its binding. */
export class MonitoredReader<T> implements AsyncDisposable {
  /** Name of the topic. */
  readonly topic: string
  readonly #reader: Reader<T>
  readonly #meter: BindingMeter

  /** @internal */
  constructor(reader: Reader<T>, meter: BindingMeter) {
    this.topic = reader.topic
    this.#reader = reader
    this.#meter = meter
  }

  /** Resolves when the group is subscribed. */
  async ready(): Promise<this> {
    await this.#meter.measure(undefined, () => this.#reader.ready())
    return this
  }

  /** Returns the next message, or null if none arrives within `timeout`. */
  async poll(timeout: Duration, options?: WaitOptions): Promise<Delivery<T> | null> {
    const delivery = await this.#meter.measure(undefined, () => this.#reader.poll(timeout, options))
    return delivery && this.#received(delivery)
  }

  /** Waits for the next message. */
  async receive(options?: WaitOptions): Promise<Delivery<T>> {
    return this.#received(await this.#meter.measure(undefined, () => this.#reader.receive(options)))
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Delivery<T>> {
    for await (const delivery of this.#reader) yield this.#received(delivery)
  }

  /** Releases unsettled messages and closes the reader. Can be called again. */
  async close(): Promise<void> {
    await this.#reader.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #received(delivery: Delivery<T>): Delivery<T> {
    const meter = this.#meter
    meter.count('received')
    const { topic, group, id, messageId, key, type, headers, createdAt, payload, attempt, version } = delivery
    return {
      ...{ topic, group, id, messageId, key, type, headers, createdAt, payload, attempt, version },
      ack: () => meter.measure('acked', () => delivery.ack()),
      nack: (error, options) => meter.measure('nacked', () => delivery.nack(error, options)),
      extend: duration => meter.measure('extended', () => delivery.extend(duration)),
    }
  }
}
