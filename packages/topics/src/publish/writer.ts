import { ClosedError } from '../errors.ts'
import type { MessageOptions, PublishOptions } from '../payload/outgoing.ts'
import type { PublishedRef } from './published-ref.ts'

/** Sends to one topic. Long-lived, or for the length of an `await using` block. */
export class Writer<T = unknown> implements AsyncDisposable {
  readonly topic: string
  readonly #publish: (payload: T, options?: MessageOptions) => Promise<PublishedRef>
  readonly #sending = new Set<Promise<unknown>>()
  #closed = false

  constructor(topic: string, publish: (payload: T, options?: PublishOptions) => Promise<PublishedRef>) {
    this.topic = topic
    this.#publish = publish
  }

  async send(payload: T, options?: MessageOptions): Promise<PublishedRef> {
    if (this.#closed) throw new ClosedError(`The writer of topic '${this.topic}'`)
    const sent = this.#publish(payload, options)
    this.#sending.add(sent)
    try {
      return await sent
    } finally {
      this.#sending.delete(sent)
    }
  }

  /** Waits for what is being sent. Again is fine. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#sending)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
