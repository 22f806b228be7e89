import { Admin } from './admin.ts'
import { Backfills } from './backfill/backfills.ts'
import { ConsumerGroup, type GroupOptions } from './consume/consumer-group.ts'
import { ConsumerIds } from './consume/consumer-ids.ts'
import type { Engine } from './consume/engine.ts'
import { type Pulled, Puller, type PullOptions } from './consume/pull/puller.ts'
import type { PullSettlement } from './consume/pull/settlement.ts'
import { Reader, type ReaderOptions } from './consume/reader.ts'
import { ReaderCounts } from './consume/reader-counts.ts'
import { Settler } from './consume/settler.ts'
import type { Duration } from './duration.ts'
import { ClosedError, PayloadError, TopicNotFoundError } from './errors.ts'
import { heartbeatDefaults } from './heartbeat-options.ts'
import { Heartbeats } from './heartbeats.ts'
import { type EventName, type Events, Instrumentation } from './instrumentation.ts'
import type { Logger } from './logger.ts'
import { createJobs } from './maintenance/jobs.ts'
import { Maintenance } from './maintenance/maintenance.ts'
import type { MaintenanceSettings } from './maintenance/presets.ts'
import { messageIdOf } from './message-id.ts'
import type { Metrics } from './metrics/metrics.ts'
import { Options } from './options.ts'
import type { Codec } from './payload/codec.ts'
import {
  checkMessageOptions,
  checkPublishOptions,
  checkSize,
  type MessageOptions,
  type PublishOptions,
  toOutgoing,
} from './payload/outgoing.ts'
import { isSchema, type Schema } from './payload/schema.ts'
import { Publisher } from './publish/publisher.ts'
import type { Writer } from './publish/writer.ts'
import type { OutgoingMessage, PublishedMessage, Store, TopicRecord } from './stores/store.ts'
import { parseTopicOptions, type TopicConfig, type TopicOptions } from './topic-config.ts'
import { Topic } from './topic-handle.ts'
import { TopicRegistry } from './topic-registry.ts'
import { WakeHub } from './wake-hub.ts'

/** A message that is stored. */
export type PublishedRef = {
  readonly topic: string
  readonly id: number
  readonly messageId: string
  /** The messageId was stored before; this is that message, and nothing was added. */
  readonly duplicate: boolean
}

/** One of several that are published together. */
export type BatchMessage = MessageOptions & { readonly payload: unknown }

export type TidemarkParts = {
  readonly store: Store
  readonly codec: Codec
  readonly logger: Logger
  readonly autoCreate: boolean
  readonly sweepMs: number
  readonly namespace: string
  readonly maintenance: MaintenanceSettings
}

/** One namespace of topics, open. `open()` makes it. */
export class Tidemark implements AsyncDisposable {
  readonly namespace: string
  readonly admin: Admin
  readonly #store: Store
  readonly #engine: Engine
  readonly #publisher: Publisher
  readonly #puller: Puller
  #watching = false
  #closing: Promise<void> | undefined

  constructor({ store, codec, logger, autoCreate, sweepMs, namespace, maintenance }: TidemarkParts) {
    const instrumentation = new Instrumentation(logger)
    const wakeHub = new WakeHub()
    const heartbeats = new Heartbeats(store, instrumentation)
    this.namespace = namespace
    this.#store = store
    this.#publisher = new Publisher(store, instrumentation, topicId => wakeHub.wake(topicId))
    const backfills = new Backfills({ store, instrumentation, wake: topicId => wakeHub.wake(topicId) })
    this.#engine = {
      store,
      codec,
      instrumentation,
      wakeHub,
      sweepMs,
      topics: new TopicRegistry(store, autoCreate),
      settler: new Settler(store, instrumentation, wakeHub, heartbeats),
      heartbeats,
      heartbeatDefaults: heartbeatDefaults(maintenance.heartbeatTimeoutMs),
      maintenance: new Maintenance(store, instrumentation, createJobs(store, instrumentation, backfills, maintenance)),
      readers: new ReaderCounts((...reader) => store.forgetReader(...reader)),
      consumerIds: new ConsumerIds(),
      backfills,
      started: new Set(),
      assertOpen: () => this.#assertOpen(),
    }
    this.#puller = new Puller(this.#engine)
    this.admin = new Admin(this.#engine, () => this.#consuming())
    if (maintenance.scheduled) this.#engine.maintenance.start()
  }

  /** Creates the topic, or changes the settings given of one that exists. Doing it again is fine. */
  async configureTopic(name: string, options?: TopicOptions): Promise<TopicConfig> {
    this.#assertOpen()
    const { config } = await this.#engine.topics.configure(name, parseTopicOptions(options))
    return config
  }

  /** Resolves when the message is stored. Calls made at the same time share one transaction. */
  async publish(topic: string, payload: unknown, options?: PublishOptions): Promise<PublishedRef> {
    this.#assertOpen()
    const given = options === undefined ? undefined : checkPublishOptions('publish', options)
    const outgoing = toOutgoing(this.#engine.codec, payload, given)
    const record = this.#engine.topics.cached(topic) ?? (await this.#engine.topics.get(topic))
    checkSize(record, outgoing)
    const [published] = await this.#storeMessages(record, [outgoing], given?.tx)
    if (published === undefined) throw new PayloadError('The database stored nothing')
    return toRef(record, outgoing, published)
  }

  /** All or nothing, in one transaction. */
  async publishBatch(
    topic: string,
    payloads: readonly unknown[],
    options?: Pick<PublishOptions, 'tx'>,
  ): Promise<PublishedRef[]> {
    this.#assertOpen()
    if (!Array.isArray(payloads)) throw new PayloadError('publishBatch takes an array of payloads')
    const batchOptions = new Options('publishBatch', options)
    const tx = batchOptions.value('tx')
    batchOptions.done()
    return await this.#publishAll(
      topic,
      payloads.map(payload => toOutgoing(this.#engine.codec, payload)),
      tx,
    )
  }

  /** As publishBatch, for messages with keys, headers and ids of their own. */
  async publishMessages(topic: string, messages: readonly BatchMessage[]): Promise<PublishedRef[]> {
    this.#assertOpen()
    if (!Array.isArray(messages)) throw new PayloadError('publishMessages takes an array of { payload, key, … }')
    return await this.#publishAll(
      topic,
      messages.map(message => toOutgoing(this.#engine.codec, ...parted(message))),
      undefined,
    )
  }

  topic<T = unknown>(name: string, given?: { schema?: Schema<T> }): Topic<T> {
    const options = new Options('topic', given)
    const schema = options.object<Schema<T>>('schema', isSchema, 'a Standard Schema (Zod, Valibot, ArkType, …)')
    options.done()
    return new Topic<T>(this, this.#consuming(), name, schema)
  }

  /** In a queue the name may be left out: all its consumers share the one group. */
  consumerGroup<T = unknown>(topic: string, group?: string, options?: GroupOptions<T>): ConsumerGroup<T> {
    return new ConsumerGroup<T>(this.#consuming(), topic, group, options)
  }

  writer<T = unknown>(topic: string): Writer<T> {
    this.#assertOpen()
    return this.topic<T>(topic).writer()
  }

  reader<T = unknown>(topic: string, options?: ReaderOptions<T>): Reader<T> {
    return new Reader<T>(this.#consuming(), topic, options)
  }

  /**
   * Claims without staying: for servers and short-lived programs. The receipt settles the messages, from any process.
   * A message that is not settled while its lease holds comes again, at the next version.
   */
  async pull(topic: string, group?: string, options?: PullOptions): Promise<Pulled> {
    this.#consuming()
    return await this.#puller.pull(topic, group, options)
  }

  /** Acks and nacks what was pulled. Again is fine; rejects with StaleDeliveryError where the lease was lost. */
  async settle(receipt: string, settlement: PullSettlement): Promise<void> {
    this.#assertOpen()
    await this.#puller.settle(receipt, settlement)
  }

  /** Keeps what was pulled for `duration` (the topic's lease) from now. */
  async extend(receipt: string, duration?: Duration): Promise<{ leaseMs: number }> {
    this.#assertOpen()
    return await this.#puller.extend(receipt, duration)
  }

  /** Listens to what happens; the returned function ends it. */
  on<Name extends EventName>(event: Name, listener: (event: Events[Name]) => void): () => void {
    return this.#engine.instrumentation.on(event, listener)
  }

  metrics(): Metrics {
    return this.#engine.instrumentation.metrics.snapshot(this.#store.poolUse())
  }

  /** Stops the groups and readers, stores what was published, and closes the database. Again is fine. */
  async close(): Promise<void> {
    this.#closing ??= this.#close()
    await this.#closing
  }

  /** Removes the namespace with all its topics and messages, and closes. */
  async dropNamespace(): Promise<void> {
    this.#assertOpen()
    this.#closing = this.#close(() => this.#store.dropNamespace())
    await this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(last?: () => Promise<void>): Promise<void> {
    const backfills = this.#engine.backfills.stop()
    await Promise.all([this.#engine.maintenance.stop(), ...[...this.#engine.started].map(each => each.stop())])
    await backfills
    this.#engine.heartbeats.stop()
    await this.#publisher.drain()
    // Groups have waited for the database as long as they may; what it did not take will be delivered again.
    this.#engine.settler.stop()
    await this.#engine.settler.drain()
    await last?.()
    await this.#store.close()
  }

  async #publishAll(topic: string, outgoing: readonly OutgoingMessage[], tx: unknown): Promise<PublishedRef[]> {
    const record = this.#engine.topics.cached(topic) ?? (await this.#engine.topics.get(topic))
    for (const message of outgoing) checkSize(record, message)
    if (outgoing.length === 0) return []
    const published = await this.#storeMessages(record, outgoing, tx)
    return published.map((each, index) => toRef(record, outgoing[index], each))
  }

  async #storeMessages(
    topic: TopicRecord,
    messages: readonly OutgoingMessage[],
    tx: unknown,
  ): Promise<PublishedMessage[]> {
    try {
      if (tx !== undefined) return await this.#publisher.publishIn(tx, topic, messages)
      return await this.#publisher.publish(topic, messages)
    } catch (error) {
      // Deleted by another process: the next publish looks for it anew.
      if (error instanceof TopicNotFoundError) this.#engine.topics.forget(topic.name)
      throw error
    }
  }

  /** The first consumer begins to watch for what other processes publish. */
  #consuming(): Engine {
    this.#assertOpen()
    if (!this.#watching) {
      this.#watching = true
      this.#store.watch(topicId => this.#engine.wakeHub.wake(topicId))
    }
    return this.#engine
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ClosedError('This Tidemark')
  }
}

function parted({ payload, ...options }: BatchMessage): [unknown, MessageOptions] {
  return [payload, checkMessageOptions('publishMessages', options)]
}

const toRef = (
  topic: TopicRecord,
  outgoing: OutgoingMessage | undefined,
  { id, duplicate }: PublishedMessage,
): PublishedRef => ({
  topic: topic.name,
  id,
  messageId: outgoing?.messageId ?? messageIdOf(topic.uid, id),
  duplicate,
})
