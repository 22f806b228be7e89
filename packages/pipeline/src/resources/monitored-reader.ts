import type { Delivery, Duration, Reader, WaitOptions } from 'tidemark'
import type { BindingMeter } from './binding-meter.ts'

/** A reader of a topic that counts what goes through it for the binding it belongs to. */
export class MonitoredReader<T> implements AsyncDisposable {
  readonly topic: string
  readonly #reader: Reader<T>
  readonly #meter: BindingMeter

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

  /** The next message, or null when none came within `timeout`. */
  async poll(timeout: Duration, options?: WaitOptions): Promise<Delivery<T> | null> {
    const delivery = await this.#meter.measure(undefined, () => this.#reader.poll(timeout, options))
    return delivery && this.#received(delivery)
  }

  /** The next message, however long it takes. */
  async receive(options?: WaitOptions): Promise<Delivery<T>> {
    return this.#received(await this.#meter.measure(undefined, () => this.#reader.receive(options)))
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Delivery<T>> {
    for await (const delivery of this.#reader) yield this.#received(delivery)
  }

  /** Gives back what was read and not settled. Again is fine. */
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
