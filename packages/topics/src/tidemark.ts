import { type Admin, createAdmin } from './admin/admin.ts'
import type { StoredPayload } from './admin/stored-message.ts'
import { ConsumerGroup } from './consume/consumer-group.ts'
import type { GroupOptions, StopOptions } from './consume/group-options.ts'
import { type Pulled, Puller, type PullOptions, type RawPullOptions, type ReceiptFacts } from './consume/pull/puller.ts'
import type { PullSettlement } from './consume/pull/settlement.ts'
import { Reader, type ReaderOptions } from './consume/reader.ts'
import { createRuntime, type TidemarkParts } from './create-runtime.ts'
import { ClosedError, type NamespaceGoneError } from './errors.ts'
import type { EventName, Events } from './observe/instrumentation.ts'
import type { Metrics } from './observe/metrics/metrics.ts'
import type { Duration } from './options/duration.ts'
import { Options } from './options/options.ts'
import type { Received } from './payload/received.ts'
import { readSchema, type Schema, type SchemaInput, type SchemaOutput } from './payload/schema.ts'
import type { PublishOptions, SyncPublishOptions } from './publish/outgoing.ts'
import type { PublishedRef } from './publish/published-ref.ts'
import { type BatchMessage, Publisher } from './publish/publisher.ts'
import type { Writer } from './publish/writer.ts'
import type { Runtime } from './runtime.ts'
import { shutDown } from './shutdown.ts'
import { Topic, type TopicParts } from './topic.ts'
import { parseTopicOptions, type TopicConfig, type TopicOptions } from './topic-config.ts'
import type { AnyTopics, TopicTypes, TypedTopics } from './topic-types.ts'
import { VERSION } from './version.ts'

const DEFAULT_CLOSE_MS = 10_000

/**
 * An open namespace of topics, returned by `open()`. The class is exported as a token for dependency injection and for
 * `instanceof`; it has no public constructor. `Topics` maps names of topics to types of payloads or schemas.
 */
export class Tidemark<Topics extends object = AnyTopics, Types extends TypedTopics = TopicTypes<Topics>>
  implements AsyncDisposable
{
  /** Name of the namespace. */
  readonly namespace: string
  /** Name of the engine that stores it, such as `sqlite` or `postgres`. */
  readonly engine: string
  /** Operations for administrators: groups, claims, dead letters, backfills, health. */
  readonly admin: Admin<keyof Types & string>
  /** Fields for the log: a location contains no secret. */
  readonly #where: object
  readonly #runtime: Runtime
  readonly #publisher: Publisher
  readonly #puller: Puller
  readonly #topicParts: TopicParts
  readonly #leaveWakeHub: () => void
  #watching = false
  #closing: Promise<void> | undefined

  private constructor(parts: TidemarkParts) {
    const { namespace, engine, maintenance } = parts
    const { runtime, leaveWakeHub } = createRuntime(parts, () => this.#assertOpen())
    this.namespace = namespace
    this.engine = engine
    this.#where = { engine, location: runtime.store.location, namespace, version: VERSION }
    this.#runtime = runtime
    this.#leaveWakeHub = leaveWakeHub
    this.#publisher = new Publisher(runtime)
    this.#puller = new Puller(runtime)
    this.#topicParts = {
      runtime,
      publisher: this.#publisher,
      puller: this.#puller,
      consuming: () => this.#consuming(),
    }
    this.admin = createAdmin(runtime, () => this.#consuming())
    runtime.store.onGone(error => this.#namespaceGone(error))
    runtime.clock.start()
    if (maintenance.scheduled) runtime.maintenance.start()
    runtime.instrumentation.logger.info(this.#where, 'opened')
  }

  /** @internal */
  static create<Topics extends object>(parts: TidemarkParts): Tidemark<Topics> {
    return new Tidemark<Topics>(parts)
  }

  /**
   * Create a topic, or change the given settings of an existing one. Repeating it is safe.
   *
   * @example
   * await tm.configureTopic('orders', { semantics: 'pub-sub', retention: '7d', maxAttempts: 3 })
   */
  async configureTopic(name: keyof Types & string, options?: TopicOptions): Promise<TopicConfig> {
    this.#assertOpen()
    const { config } = await this.#runtime.topics.configure(name, parseTopicOptions(options))
    return config
  }

  /**
   * Publish a message. Resolves when it is stored. Concurrent calls share one transaction.
   *
   * @example
   * const { messageId } = await tm.publish('orders', { orderId: 7 }, { key: 'customer-3' })
   * await tm.publish('orders', { orderId: 8 }, { messageId: 'order-8' }) // a second publish with this id is not stored
   */
  publish<Name extends keyof Types & string>(
    topic: Name,
    payload: Types[Name]['input'],
    options?: PublishOptions,
  ): Promise<PublishedRef> {
    return this.#publisher.publish(topic, payload, options)
  }

  /**
   * Publish in your own transaction on SQLite, stored when the call returns. For transaction functions that can't await,
   * such as those of better-sqlite3 and of Drizzle on it: the error of a `publish` that nobody awaits would come too late
   * to roll back.
   *
   * @example
   * db.exec('begin immediate')
   * const { messageId } = tm.publishSync('orders', { orderId: 7 }, { tx: db })
   * db.exec('commit')
   */
  publishSync<Name extends keyof Types & string>(
    topic: Name,
    payload: Types[Name]['input'],
    options: SyncPublishOptions,
  ): PublishedRef {
    return this.#publisher.publishSync(topic, payload, options)
  }

  /**
   * Publish several payloads in one transaction, all or none. The limit is 256 MiB, counting 64 bytes extra per
   * message.
   *
   * @example
   * const refs = await tm.publishBatch('orders', [{ orderId: 9 }, { orderId: 10 }])
   */
  publishBatch<Name extends keyof Types & string>(
    topic: Name,
    payloads: readonly Types[Name]['input'][],
    options?: Pick<PublishOptions, 'tx'>,
  ): Promise<PublishedRef[]> {
    return this.#publisher.publishBatch(topic, payloads, options)
  }

  /**
   * Like `publishBatch`, for messages with keys, headers and ids.
   *
   * @example
   * await tm.publishMessages('orders', [
   *   { payload: { orderId: 9 }, key: 'customer-1' },
   *   { payload: { orderId: 10 }, key: 'customer-2', messageId: 'order-10' },
   * ])
   */
  publishMessages<Name extends keyof Types & string>(
    topic: Name,
    messages: readonly BatchMessage<Types[Name]['input']>[],
    options?: Pick<PublishOptions, 'tx'>,
  ): Promise<PublishedRef[]> {
    return this.#publisher.publishMessages(topic, messages, options)
  }

  /**
   * A typed handle of a topic. With a schema, payloads are validated when they are published and when they are
   * consumed: its input type is what you publish, and its output type is what handlers receive.
   *
   * @example
   * const typed = tm.topic<{ orderId: number }>('orders')
   * await typed.publish({ orderId: 12 })
   */
  topic<S extends Schema>(name: keyof Types & string, options: { schema: S }): Topic<SchemaInput<S>, SchemaOutput<S>>
  topic<Name extends keyof Types & string, Input extends Types[Name]['input'], Output extends Types[Name]['output']>(
    name: Name,
    options?: { schema?: Schema<Input, Output> },
  ): Topic<Input, Output>
  topic<Input, Output = Received<Input>>(
    name: keyof Types & string,
    options?: { schema?: Schema<unknown, Output> },
  ): Topic<Input, Output>
  topic<Input, Output>(name: string, given?: { schema?: Schema<unknown, Output> }): Topic<Input, Output> {
    this.#assertOpen()
    const options = new Options('topic', given)
    const schema = readSchema<Output>(options) as Schema<Input, Output> | undefined
    options.done()
    return Topic.create(this.#topicParts, name, schema)
  }

  /**
   * A consumer group of a topic. A queue has a single group, so its name may be omitted.
   *
   * @example
   * const email = tm.consumerGroup<{ orderId: number }>('orders', 'email', { batchSize: 100 })
   * email.addConsumer('email-1', async ({ payload }) => console.log(payload.orderId))
   * await email.start({ from: 'now' })
   */
  consumerGroup<Name extends keyof Types & string, T extends Types[Name]['output']>(
    topic: Name,
    group?: string,
    options?: GroupOptions<T>,
  ): ConsumerGroup<T>
  consumerGroup<T>(topic: keyof Types & string, group?: string, options?: GroupOptions<T>): ConsumerGroup<T>
  consumerGroup<T>(topic: string, group?: string, options?: GroupOptions<T>): ConsumerGroup<T> {
    return ConsumerGroup.create<T>(this.#consuming(), topic, group, options)
  }

  /**
   * A writer that sends to one topic.
   *
   * @example
   * await using writer = tm.writer<{ orderId: number }>('orders')
   * await writer.send({ orderId: 7 })
   */
  writer<Name extends keyof Types & string, T extends Types[Name]['input']>(topic: Name): Writer<T>
  writer<T>(topic: keyof Types & string): Writer<T>
  writer<T>(topic: string): Writer<T> {
    this.#assertOpen()
    return Topic.create<T, unknown>(this.#topicParts, topic, undefined).writer()
  }

  /**
   * A reader that receives messages one at a time.
   *
   * @example
   * await using reader = tm.reader<{ orderId: number }>('orders', { group: 'billing', from: 'beginning' })
   * const delivery = await reader.receive()
   * await reader.ack(delivery)
   */
  reader<Name extends keyof Types & string, T extends Types[Name]['output']>(
    topic: Name,
    options?: ReaderOptions<T>,
  ): Reader<T>
  reader<T>(topic: keyof Types & string, options?: ReaderOptions<T>): Reader<T>
  reader<T>(topic: string, options?: ReaderOptions<T>): Reader<T> {
    return Reader.create<T>(this.#consuming(), topic, options)
  }

  /**
   * Claim messages without a long-lived consumer, for servers and short-lived programs. Any process can settle them
   * with the receipt. Messages that are not settled before the lease expires are redelivered with the next version.
   * A payload that can't be decoded, or that its schema refuses, is a failed attempt and is not returned.
   *
   * @example
   * const { messages, receipt } = await tm.pull('orders', 'email', { max: 10, wait: '5s', lease: '30s' })
   * for (const { payload } of messages) console.log(payload)
   * if (receipt !== null) await tm.settle(receipt, { acks: 'all' })
   */
  pull(topic: keyof Types & string, group: string | undefined, options: RawPullOptions): Promise<Pulled<StoredPayload>>
  pull<Name extends keyof Types & string, T extends Types[Name]['output']>(
    topic: Name,
    group?: string,
    options?: PullOptions<T>,
  ): Promise<Pulled<T>>
  pull<T>(topic: keyof Types & string, group?: string, options?: PullOptions<T>): Promise<Pulled<T>>
  async pull<T>(topic: string, group?: string, options?: PullOptions<T> | RawPullOptions): Promise<Pulled<T>> {
    this.#consuming()
    return await this.#puller.pull<T>(topic, group, options)
  }

  /**
   * Acknowledge or reject pulled messages. Idempotent. Rejects with `StaleDeliveryError` if the lease was lost.
   *
   * @example
   * await tm.settle(receipt, { acks: [1, 2], nacks: [{ id: 3, error: 'mailbox full', delay: '5s' }] })
   */
  async settle(receipt: string, settlement: PullSettlement): Promise<void> {
    this.#assertOpen()
    await this.#puller.settle(receipt, settlement)
  }

  /**
   * Return what a receipt of this namespace refers to. Rejects with `InvalidReceiptError` if it is not a valid
   * receipt.
   *
   * @example
   * const { topic, group, ids } = await tm.readReceipt(receipt)
   */
  async readReceipt(receipt: string): Promise<ReceiptFacts> {
    this.#assertOpen()
    return await this.#puller.readReceipt(receipt)
  }

  /**
   * Derive a secret key of 32 bytes for a purpose. It is the same in every process that has this namespace open. The
   * HTTP server signs its sessions with one.
   *
   * @example
   * const key = await tm.deriveKey('my sessions')
   */
  async deriveKey(purpose: string): Promise<Uint8Array> {
    this.#assertOpen()
    return await this.#puller.deriveKey(purpose)
  }

  /**
   * Extend the lease of pulled messages to `duration` from now (default: the lease of the topic).
   *
   * @example
   * const { leaseMs } = await tm.extend(receipt, '1m')
   */
  async extend(receipt: string, duration?: Duration): Promise<{ leaseMs: number }> {
    this.#assertOpen()
    return await this.#puller.extend(receipt, duration)
  }

  /**
   * Listen to an event. The returned function removes the listener.
   *
   * @example
   * const off = tm.on('dead-lettered', ({ topic, group, count }) => console.warn(topic, group, count))
   * off()
   */
  on<Name extends EventName>(event: Name, listener: (event: Events[Name]) => void): () => void {
    return this.#runtime.instrumentation.on(event, listener)
  }

  /**
   * Metrics of this process: totals, rates, latencies, and figures of topics, groups and consumers.
   *
   * @example
   * const { totals, rates } = tm.metrics()
   * console.log(totals.published, rates.acked)
   */
  metrics(): Metrics {
    const { instrumentation, vitals, store } = this.#runtime
    const { outages } = instrumentation
    return {
      ...instrumentation.metrics.snapshot(store.inspection.poolUse()),
      failures: outages.counts,
      outages: outages.open,
      failing: vitals.failing(),
    }
  }

  /**
   * Stop groups and readers, finish pending publishes and close the database. Repeating it is safe. After the timeout
   * (default 10 s) it no longer waits: unfinished messages are redelivered, and unanswered publishes reject.
   *
   * @example
   * await tm.close({ timeout: '5s' })
   */
  async close(given?: StopOptions): Promise<void> {
    const options = new Options('close', given)
    const timeoutMs = options.duration('timeout', DEFAULT_CLOSE_MS)
    options.done()
    this.#closing ??= this.#close(timeoutMs)
    await this.#closing
  }

  /**
   * Delete the namespace with all topics and messages, and close.
   *
   * @example
   * await tm.dropNamespace()
   */
  async dropNamespace(): Promise<void> {
    this.#assertOpen()
    const dropping = this.#close(DEFAULT_CLOSE_MS, () => this.#runtime.store.dropNamespace())
    // It is closed in any case.
    this.#closing = dropping.catch(() => undefined)
    await dropping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(timeoutMs: number, last?: () => Promise<void>): Promise<void> {
    await shutDown(this.#runtime, this.#publisher, {
      timeoutMs,
      leaveWakeHub: this.#leaveWakeHub,
      ...(last && { last }),
    })
    this.#runtime.instrumentation.logger.info(this.#where, 'closed')
  }

  /** Every call rejects with it from now on. Running work stops, and waiting work wakes up to notice. */
  #namespaceGone(error: NamespaceGoneError): void {
    this.#runtime.instrumentation.emit('namespace-gone', { namespace: this.namespace, error })
    this.#runtime.heartbeats.end(error)
    this.#runtime.clock.stop()
    this.#runtime.wakeHub.wake(null)
    // Not awaited: the current step may be what found out.
    void this.#runtime.maintenance.stop()
    void this.#runtime.backfills.stop()
  }

  /** The first consumer starts watching for what other processes publish. */
  #consuming(): Runtime {
    this.#assertOpen()
    if (!this.#watching) {
      this.#watching = true
      this.#runtime.store.watch(topicId => this.#runtime.wakeHub.wake(topicId))
    }
    return this.#runtime
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ClosedError('This Tidemark')
  }
}
