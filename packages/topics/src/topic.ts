import { ConsumerGroup } from './consume/consumer-group.ts'
import type { GroupOptions } from './consume/group-options.ts'
import { Reader, type ReaderOptions } from './consume/reader.ts'
import { checkName } from './options/names.ts'
import { type Schema, validate } from './payload/schema.ts'
import type { PublishOptions } from './publish/outgoing.ts'
import type { PublishedRef } from './publish/published-ref.ts'
import { Writer } from './publish/writer.ts'
import type { Runtime } from './runtime.ts'

/** Where messages are published: an open Tidemark. */
type Publishing = {
  publish(topic: string, payload: unknown, options?: PublishOptions): Promise<PublishedRef>
  publishBatch(
    topic: string,
    payloads: readonly unknown[],
    options?: Pick<PublishOptions, 'tx'>,
  ): Promise<PublishedRef[]>
}

/** A typed handle of a topic. Payloads are validated if it has a schema. */
export class Topic<T = unknown> {
  /** Name of the topic. */
  readonly name: string
  readonly #tidemark: Publishing
  readonly #runtime: Runtime
  readonly #schema: Schema<T> | undefined

  constructor(tidemark: Publishing, runtime: Runtime, name: string, schema: Schema<T> | undefined) {
    this.name = checkName('topic', name)
    this.#tidemark = tidemark
    this.#runtime = runtime
    this.#schema = schema
  }

  /**
   * Validate and publish a payload. Resolves when it is stored.
   *
   * @example
   * await orders.publish({ orderId: 7 }, { key: 'customer-3' })
   */
  async publish(payload: T, options?: PublishOptions): Promise<PublishedRef> {
    return await this.#tidemark.publish(this.name, await this.#check(payload), options)
  }

  /**
   * Validate and publish several payloads in one transaction, all or none.
   *
   * @example
   * await orders.publishBatch([{ orderId: 9 }, { orderId: 10 }])
   */
  async publishBatch(payloads: readonly T[], options?: Pick<PublishOptions, 'tx'>): Promise<PublishedRef[]> {
    const checked = await Promise.all(payloads.map(payload => this.#check(payload)))
    return await this.#tidemark.publishBatch(this.name, checked, options)
  }

  /**
   * A consumer group of this topic.
   *
   * @example
   * orders.group('audit').addConsumer('audit-1', ({ payload }) => console.log(payload.orderId))
   */
  group(name?: string, options?: Omit<GroupOptions<T>, 'schema'>): ConsumerGroup<T> {
    return new ConsumerGroup<T>(this.#runtime, this.name, name, { ...options, ...this.#withSchema() })
  }

  /**
   * A reader of this topic.
   *
   * @example
   * const reader = orders.reader({ group: 'billing', from: 'beginning' })
   */
  reader(options?: Omit<ReaderOptions<T>, 'schema'>): Reader<T> {
    return new Reader<T>(this.#runtime, this.name, { ...options, ...this.#withSchema() })
  }

  /**
   * A writer to this topic.
   *
   * @example
   * await using writer = orders.writer()
   * await writer.send({ orderId: 7 })
   */
  writer(): Writer<T> {
    return new Writer<T>(this.name, (payload, options) => this.publish(payload, options))
  }

  #withSchema(): { schema?: Schema<T> } {
    return this.#schema === undefined ? {} : { schema: this.#schema }
  }

  /** The payload is published as it was given: a schema's transformations are the reader's. */
  async #check(payload: T): Promise<T> {
    if (this.#schema !== undefined) await validate(this.#schema, this.name, payload)
    return payload
  }
}
