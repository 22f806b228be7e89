import { ConsumerGroup } from './consume/consumer-group.ts'
import type { GroupOptions } from './consume/group-options.ts'
import type { Pulled, Puller, PullOptions } from './consume/pull/puller.ts'
import { Reader, type ReaderOptions } from './consume/reader.ts'
import { checkName } from './options/names.ts'
import type { Received } from './payload/received.ts'
import type { Schema } from './payload/schema.ts'
import type { PublishOptions, SyncPublishOptions } from './publish/outgoing.ts'
import type { PublishedRef } from './publish/published-ref.ts'
import type { BatchMessage, Publisher } from './publish/publisher.ts'
import { Writer } from './publish/writer.ts'
import type { Runtime } from './runtime.ts'

/** The parts of a Tidemark that its topic handles share. */
export type TopicParts = {
  readonly publisher: Publisher
  readonly puller: Puller
  readonly runtime: Runtime
  /** The same, kept informed of what other processes publish. */
  readonly consuming: () => Runtime
}

/**
 * A typed handle of a topic, returned by `tm.topic()`. `Input` is what is published, and `Output` is what handlers and
 * readers receive. With a schema, payloads are validated when they are published and when they are consumed.
 */
export class Topic<Input = unknown, Output = Received<Input>> {
  /** Name of the topic. */
  readonly name: string
  readonly #parts: TopicParts
  readonly #schema: Schema<Input, Output> | undefined

  private constructor(parts: TopicParts, name: string, schema: Schema<Input, Output> | undefined) {
    this.name = checkName('topic', name)
    this.#parts = parts
    this.#schema = schema ?? (parts.runtime.schemas.get(name) as Schema<Input, Output> | undefined)
  }

  /** @internal */
  static create<Input, Output>(
    parts: TopicParts,
    name: string,
    schema: Schema<Input, Output> | undefined,
  ): Topic<Input, Output> {
    return new Topic(parts, name, schema)
  }

  /**
   * Validate and publish a payload. Resolves when it is stored.
   *
   * @example
   * await orders.publish({ orderId: 7 }, { key: 'customer-3' })
   */
  publish(payload: Input, options?: PublishOptions): Promise<PublishedRef> {
    return this.#parts.publisher.publish(this.name, payload, options, this.#schema)
  }

  /**
   * Validate and publish in your own transaction on SQLite, stored when the call returns. See `tm.publishSync`.
   *
   * @example
   * db.exec('begin immediate')
   * orders.publishSync({ orderId: 7 }, { tx: db })
   * db.exec('commit')
   */
  publishSync(payload: Input, options: SyncPublishOptions): PublishedRef {
    return this.#parts.publisher.publishSync(this.name, payload, options, this.#schema)
  }

  /**
   * Validate and publish several payloads in one transaction, all or none.
   *
   * @example
   * await orders.publishBatch([{ orderId: 9 }, { orderId: 10 }])
   */
  publishBatch(payloads: readonly Input[], options?: Pick<PublishOptions, 'tx'>): Promise<PublishedRef[]> {
    return this.#parts.publisher.publishBatch(this.name, payloads, options, this.#schema)
  }

  /**
   * Like `publishBatch`, for messages with keys, headers and ids.
   *
   * @example
   * await orders.publishMessages([{ payload: { orderId: 9 }, key: 'customer-1' }])
   */
  publishMessages(
    messages: readonly BatchMessage<Input>[],
    options?: Pick<PublishOptions, 'tx'>,
  ): Promise<PublishedRef[]> {
    return this.#parts.publisher.publishMessages(this.name, messages, options, this.#schema)
  }

  /**
   * A consumer group of this topic.
   *
   * @example
   * orders.group('audit').addConsumer('audit-1', ({ payload }) => console.log(payload.orderId))
   */
  group(name?: string, options?: Omit<GroupOptions<Output>, 'schema'>): ConsumerGroup<Output> {
    return ConsumerGroup.create<Output>(this.#parts.consuming(), this.name, name, { ...options, ...this.#withSchema() })
  }

  /**
   * A reader of this topic.
   *
   * @example
   * const reader = orders.reader({ group: 'billing', from: 'beginning' })
   */
  reader(options?: Omit<ReaderOptions<Output>, 'schema'>): Reader<Output> {
    return Reader.create<Output>(this.#parts.consuming(), this.name, { ...options, ...this.#withSchema() })
  }

  /**
   * A writer to this topic.
   *
   * @example
   * await using writer = orders.writer()
   * await writer.send({ orderId: 7 })
   */
  writer(): Writer<Input> {
    return Writer.create<Input>(this.name, (payload, options) => this.publish(payload, options))
  }

  /**
   * Claim messages of this topic without a long-lived consumer. Settle them with `tm.settle(receipt, …)`.
   *
   * @example
   * const { messages, receipt } = await orders.pull('email', { max: 10 })
   * for (const { payload } of messages) console.log(payload.orderId)
   */
  async pull(group?: string, options?: Omit<PullOptions<Output>, 'schema'>): Promise<Pulled<Output>> {
    this.#parts.consuming()
    return await this.#parts.puller.pull<Output>(this.name, group, { ...options, ...this.#withSchema() })
  }

  #withSchema(): { schema?: Schema<Input, Output> } {
    return this.#schema === undefined ? {} : { schema: this.#schema }
  }
}
