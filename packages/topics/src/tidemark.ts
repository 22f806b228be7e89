import { randomUUID } from 'node:crypto'
import { Admin } from './admin/admin.ts'
import { BackfillRunner } from './backfill/backfill-runner.ts'
import { ConsumerGroup, type GroupOptions, type StopOptions } from './consume/consumer-group.ts'
import { ConsumerIds } from './consume/consumer-ids.ts'
import { heartbeatDefaults } from './consume/heartbeat-options.ts'
import { HeartbeatSender } from './consume/heartbeat-sender.ts'
import { Isolation } from './consume/isolation.ts'
import { type Pulled, Puller, type PullOptions, type ReceiptFacts } from './consume/pull/puller.ts'
import type { PullSettlement } from './consume/pull/settlement.ts'
import { Reader, type ReaderOptions } from './consume/reader.ts'
import { ReaderCounts } from './consume/reader-counts.ts'
import { Settler } from './consume/settler.ts'
import { Vitals } from './consume/vitals.ts'
import { WakeHub } from './consume/wake-hub.ts'
import { ClosedError, type NamespaceGoneError, PayloadError, TopicNotFoundError } from './errors.ts'
import { ClockWatch } from './maintenance/clock-watch.ts'
import { createJobs } from './maintenance/jobs.ts'
import { Maintenance } from './maintenance/maintenance.ts'
import type { MaintenanceSettings } from './maintenance/presets.ts'
import { type EventName, type Events, Instrumentation } from './observe/instrumentation.ts'
import type { Logger } from './observe/logger.ts'
import type { Metrics } from './observe/metrics/metrics.ts'
import { watchedStore } from './observe/watched-store.ts'
import type { Duration } from './options/duration.ts'
import { Options } from './options/options.ts'
import type { Codec } from './payload/codec.ts'
import { messageIdOf } from './payload/message-id.ts'
import { isSchema, type Schema } from './payload/schema.ts'
import { GroupCommit } from './publish/group-commit.ts'
import {
  checkMessageOptions,
  checkPublishOptions,
  checkSize,
  type MessageOptions,
  type PublishOptions,
  toBatch,
  toOutgoing,
} from './publish/outgoing.ts'
import type { PublishedRef } from './publish/published-ref.ts'
import type { Writer } from './publish/writer.ts'
import type { Runtime } from './runtime.ts'
import type { OutgoingMessage, PublishedMessage } from './stores/log.ts'
import type { Store } from './stores/store.ts'
import type { TopicRecord } from './stores/topic-record.ts'
import { Topic } from './topic.ts'
import { parseTopicOptions, type TopicConfig, type TopicOptions } from './topic-config.ts'
import { type AutoCreate, TopicRegistry } from './topic-registry.ts'
import { VERSION } from './version.ts'
import { withTimeout } from './with-timeout.ts'

const DEFAULT_CLOSE_MS = 10_000
const LEAST_WAIT_MS = 500

/** A message of `publishMessages`. */
export type BatchMessage = MessageOptions & {
  /** Payload of the message. */
  readonly payload: unknown
}

export type TidemarkParts = {
  readonly store: Store
  /** For the log: 'sqlite' or 'postgres'. */
  readonly engine: string
  readonly codec: Codec
  readonly logger: Logger
  readonly autoCreate: AutoCreate
  readonly sweepMs: number
  readonly namespace: string
  readonly maintenance: MaintenanceSettings
}

/** An open namespace of topics, returned by `open()`. */
export class Tidemark implements AsyncDisposable {
  /** Name of the namespace. */
  readonly namespace: string
  /** Operations for administrators: groups, claims, dead letters, backfills, health. */
  readonly admin: Admin
  readonly #store: Store
  /** What the log says of it: no secret is in a location. */
  readonly #where: object
  readonly #runtime: Runtime
  readonly #groupCommit: GroupCommit
  readonly #puller: Puller
  readonly #leaveWakeHub: () => void
  #watching = false
  #closing: Promise<void> | undefined

  constructor({ store: database, engine, codec, logger, autoCreate, sweepMs, namespace, maintenance }: TidemarkParts) {
    const instrumentation = new Instrumentation(logger)
    // A memory database is nobody else's.
    const { hub: wakeHub, leave } = WakeHub.join(
      database.capabilities.persistent ? `${database.location} ${namespace}` : randomUUID(),
    )
    const store = watchedStore(database, instrumentation.outages)
    const vitals = new Vitals()
    const clock = new ClockWatch(store, instrumentation)
    const heartbeats = new HeartbeatSender(store, instrumentation, vitals)
    this.namespace = namespace
    this.#leaveWakeHub = leave
    this.#where = { engine, location: store.location, namespace, version: VERSION }
    this.#store = store
    this.#groupCommit = new GroupCommit(store, instrumentation, topicId => wakeHub.wake(topicId))
    const backfills = new BackfillRunner({ store, instrumentation, wake: topicId => wakeHub.wake(topicId) })
    this.#runtime = {
      store,
      codec,
      instrumentation,
      wakeHub,
      sweepMs,
      topics: new TopicRegistry(store, autoCreate),
      settler: new Settler(store, instrumentation, wakeHub, heartbeats),
      isolation: new Isolation(),
      heartbeats,
      vitals,
      heartbeatDefaults: heartbeatDefaults(maintenance.heartbeatTimeoutMs),
      maintenance: new Maintenance(
        store,
        instrumentation,
        clock,
        createJobs(store, instrumentation, backfills, maintenance),
      ),
      clock,
      readers: new ReaderCounts((...reader) => store.leases.forgetReader(...reader)),
      consumerIds: new ConsumerIds(),
      backfills,
      started: new Set(),
      assertOpen: () => this.#assertOpen(),
    }
    this.#puller = new Puller(this.#runtime)
    this.admin = new Admin(this.#runtime, () => this.#consuming())
    store.onGone(error => this.#namespaceGone(error))
    clock.start()
    if (maintenance.scheduled) this.#runtime.maintenance.start()
    instrumentation.logger.info(this.#where, 'opened')
  }

  /**
   * Create a topic, or change the given settings of an existing one. Repeating it is safe.
   *
   * @example
   * await tm.configureTopic('orders', { semantics: 'pub-sub', retention: '7d', maxAttempts: 3 })
   */
  async configureTopic(name: string, options?: TopicOptions): Promise<TopicConfig> {
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
  async publish(topic: string, payload: unknown, options?: PublishOptions): Promise<PublishedRef> {
    this.#assertOpen()
    const given = options === undefined ? undefined : checkPublishOptions('publish', options)
    const outgoing = toOutgoing(this.#runtime.codec, payload, given)
    const record = this.#runtime.topics.cached(topic) ?? (await this.#findTopic(topic, given?.tx))
    checkSize(record, outgoing)
    const [published] = await this.#storeMessages(record, [outgoing], given?.tx)
    if (published === undefined) throw new PayloadError('The database stored nothing')
    return toRef(record, outgoing, published)
  }

  /**
   * Publish several payloads in one transaction, all or none. The limit is 256 MiB, counting 64 bytes extra per
   * message.
   *
   * @example
   * const refs = await tm.publishBatch('orders', [{ orderId: 9 }, { orderId: 10 }])
   */
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
      toBatch(topic, payloads, payload => toOutgoing(this.#runtime.codec, payload)),
      tx,
    )
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
  async publishMessages(topic: string, messages: readonly BatchMessage[]): Promise<PublishedRef[]> {
    this.#assertOpen()
    if (!Array.isArray(messages)) throw new PayloadError('publishMessages takes an array of { payload, key, … }')
    return await this.#publishAll(
      topic,
      toBatch(topic, messages, message => toOutgoing(this.#runtime.codec, ...parted(message))),
      undefined,
    )
  }

  /**
   * A typed handle of a topic. With a schema, payloads are validated when they are published and when they are
   * consumed.
   *
   * @example
   * const typed = tm.topic<{ orderId: number }>('orders')
   * await typed.publish({ orderId: 12 })
   */
  topic<T = unknown>(name: string, given?: { schema?: Schema<T> }): Topic<T> {
    const options = new Options('topic', given)
    const schema = options.object<Schema<T>>('schema', isSchema, 'a Standard Schema (Zod, Valibot, ArkType, …)')
    options.done()
    return new Topic<T>(this, this.#consuming(), name, schema)
  }

  /**
   * A consumer group of a topic. A queue has a single group, so its name may be omitted.
   *
   * @example
   * const email = tm.consumerGroup<{ orderId: number }>('orders', 'email', { batchSize: 100 })
   * email.addConsumer('email-1', async ({ payload }) => console.log(payload.orderId))
   * await email.start({ from: 'now' })
   */
  consumerGroup<T = unknown>(topic: string, group?: string, options?: GroupOptions<T>): ConsumerGroup<T> {
    return new ConsumerGroup<T>(this.#consuming(), topic, group, options)
  }

  /**
   * A writer that sends to one topic.
   *
   * @example
   * await using writer = tm.writer<{ orderId: number }>('orders')
   * await writer.send({ orderId: 7 })
   */
  writer<T = unknown>(topic: string): Writer<T> {
    this.#assertOpen()
    return this.topic<T>(topic).writer()
  }

  /**
   * A reader that receives messages one at a time.
   *
   * @example
   * await using reader = tm.reader<{ orderId: number }>('orders', { group: 'billing', from: 'beginning' })
   * const delivery = await reader.receive()
   * await reader.ack(delivery)
   */
  reader<T = unknown>(topic: string, options?: ReaderOptions<T>): Reader<T> {
    return new Reader<T>(this.#consuming(), topic, options)
  }

  /**
   * Claim messages without a long-lived consumer, for servers and short-lived programs. Any process can settle them
   * with the receipt. Messages that are not settled before the lease expires are redelivered with the next version.
   *
   * @example
   * const { messages, receipt } = await tm.pull('orders', 'email', { max: 10, wait: '5s', lease: '30s' })
   * if (receipt !== null) await tm.settle(receipt, { acks: 'all' })
   */
  async pull(topic: string, group?: string, options?: PullOptions): Promise<Pulled> {
    this.#consuming()
    return await this.#puller.pull(topic, group, options)
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
    const { instrumentation, vitals } = this.#runtime
    const { outages } = instrumentation
    return {
      ...instrumentation.metrics.snapshot(this.#store.inspection.poolUse()),
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
    const dropping = this.#close(DEFAULT_CLOSE_MS, () => this.#store.dropNamespace())
    // It is closed in any case.
    this.#closing = dropping.catch(() => undefined)
    await dropping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(timeoutMs: number, last?: () => Promise<void>): Promise<void> {
    this.#runtime.clock.stop()
    const until = performance.now() + timeoutMs
    /** A database that doesn't answer is waited for this long in all, and a moment each. */
    const left = (): number => Math.max(LEAST_WAIT_MS, until - performance.now())
    const background = Promise.all([this.#runtime.backfills.stop(), this.#runtime.maintenance.stop()])
    const groups = [...this.#runtime.started].map(each => each.stop({ timeout: timeoutMs }))
    // Handlers may take all of it; then their messages are given back.
    await withTimeout(Promise.allSettled(groups), left() + LEAST_WAIT_MS)
    this.#runtime.heartbeats.stop()
    await withTimeout(Promise.all([background, this.#groupCommit.drain()]), left())
    // Groups have waited for the database as long as they may; what it did not take will be delivered again.
    this.#runtime.settler.stop()
    await withTimeout(this.#runtime.settler.drain(), LEAST_WAIT_MS)
    this.#leaveWakeHub()
    try {
      await last?.()
    } finally {
      await this.#store.close(LEAST_WAIT_MS)
    }
    this.#runtime.instrumentation.logger.info(this.#where, 'closed')
  }

  /** Every call rejects with it from now on. What is at work stops, and what waits looks, to hear of it. */
  #namespaceGone(error: NamespaceGoneError): void {
    this.#runtime.instrumentation.emit('namespace-gone', { namespace: this.namespace, error })
    this.#runtime.heartbeats.end(error)
    this.#runtime.clock.stop()
    this.#runtime.wakeHub.wake(null)
    // Not awaited: the step that is under way may be what found out.
    void this.#runtime.maintenance.stop()
    void this.#runtime.backfills.stop()
  }

  async #publishAll(topic: string, outgoing: readonly OutgoingMessage[], tx: unknown): Promise<PublishedRef[]> {
    const record = this.#runtime.topics.cached(topic) ?? (await this.#findTopic(topic, tx))
    for (const message of outgoing) checkSize(record, message)
    if (outgoing.length === 0) return []
    const published = await this.#storeMessages(record, outgoing, tx)
    return published.map((each, index) => toRef(record, outgoing[index], each))
  }

  async #findTopic(name: string, tx: unknown): Promise<TopicRecord> {
    const { topics } = this.#runtime
    return tx === undefined ? await topics.get(name) : await topics.getIn(tx, name)
  }

  async #storeMessages(
    topic: TopicRecord,
    messages: readonly OutgoingMessage[],
    tx: unknown,
  ): Promise<PublishedMessage[]> {
    try {
      if (tx !== undefined) return await this.#groupCommit.publishIn(tx, topic, messages)
      return await this.#groupCommit.publish(topic, messages)
    } catch (error) {
      // Deleted by another process: the next publish looks for it anew.
      if (error instanceof TopicNotFoundError) this.#runtime.topics.forget(topic.name)
      throw error
    }
  }

  /** The first consumer begins to watch for what other processes publish. */
  #consuming(): Runtime {
    this.#assertOpen()
    if (!this.#watching) {
      this.#watching = true
      this.#store.watch(topicId => this.#runtime.wakeHub.wake(topicId))
    }
    return this.#runtime
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
  { id, salt, duplicate }: PublishedMessage,
): PublishedRef => ({
  topic: topic.name,
  id,
  messageId: outgoing?.messageId ?? messageIdOf(topic.uid, salt, id),
  duplicate,
})
