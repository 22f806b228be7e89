import { ClosedError } from '../errors.ts'
import type { PublishOptions } from './outgoing.ts'
import type { PublishedRef } from './published-ref.ts'

/** Sends messages to one topic. */
export class Writer<T = unknown> implements AsyncDisposable {
  /** Name of the topic. */
  readonly topic: string
  readonly #publish: (payload: T, options?: PublishOptions) => Promise<PublishedRef>
  readonly #sending = new Set<Promise<unknown>>()
  #closed = false

  private constructor(topic: string, publish: (payload: T, options?: PublishOptions) => Promise<PublishedRef>) {
    this.topic = topic
    this.#publish = publish
  }

  /** @internal */
  static create<T>(topic: string, publish: (payload: T, options?: PublishOptions) => Promise<PublishedRef>): Writer<T> {
    return new Writer<T>(topic, publish)
  }

  /**
   * Publish a payload. Resolves when it is stored.
   *
   * @example
   * await writer.send({ orderId: 7 }, { key: 'customer-3' })
   */
  async send(payload: T, options?: PublishOptions): Promise<PublishedRef> {
    if (this.#closed) throw new ClosedError(`The writer of topic '${this.topic}'`)
    const sent = this.#publish(payload, options)
    this.#sending.add(sent)
    try {
      return await sent
    } finally {
      this.#sending.delete(sent)
    }
  }

  /**
   * Wait for pending sends and close the writer. Repeating it is safe.
   *
   * @example
   * await writer.close()
   */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#sending)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
