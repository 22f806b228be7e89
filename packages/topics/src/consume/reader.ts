import type { BackfillOptions } from '../backfill/backfill-plan.ts'
import { type Duration, parseDuration } from '../duration.ts'
import { ClosedError, ConfigError, TidemarkError } from '../errors.ts'
import type { HeartbeatOptions } from '../heartbeat-options.ts'
import type { Beating } from '../heartbeats.ts'
import { checkName } from '../names.ts'
import { Options } from '../options.ts'
import { isSchema, type Schema } from '../payload/schema.ts'
import type { SubscriptionSettings } from '../stores/fan-out-store.ts'
import type { StartPosition } from '../stores/store.ts'
import { withTimeout } from '../with-timeout.ts'
import { Claimer } from './claimer.ts'
import { type Decoding, decodePayload } from './decode.ts'
import { type Delivery, LeasedDelivery } from './delivery.ts'
import type { Engine } from './engine.ts'
import type { HeldLease } from './held-lease.ts'
import { type From, parseFrom } from './start-position.ts'
import { subscribe } from './subscribe.ts'
import { parseSubscription } from './subscription-options.ts'

export type ReaderOptions<T = unknown> = {
  /** Needed in a pub-sub topic; only a label in a queue. */
  group?: string
  consumer?: string
  from?: From
  heartbeat?: HeartbeatOptions
  /** false: a new group of a reference topic gets only what is published from now on. */
  backfill?: BackfillOptions | false
  schema?: Schema<T>
  /** Messages per claim. 1: each is claimed when it is asked for, so competing readers share evenly. */
  batchSize?: number
}

const CLOSE_MS = 10_000

let unnamed = 0

/** Pulls one message at a time; each is to be acked or nacked. */
export class Reader<T = unknown> implements AsyncDisposable {
  readonly topic: string
  readonly #engine: Engine
  readonly #label: string
  readonly #consumer: string
  readonly #decoding: Decoding<T>
  readonly #batchSize: number
  readonly #claimer: Promise<Claimer>
  readonly #closing = new AbortController()
  /** Aborts with `#closing`, or when the reader has failed for good. */
  readonly #ended = new AbortController()
  #failure: Error | undefined
  #beating: Beating | undefined
  readonly #held = new Set<LeasedDelivery<T>>()
  #buffer: { lease: HeldLease; index: number }[] = []
  #turn: Promise<unknown> = Promise.resolve()

  constructor(engine: Engine, topic: string, given: ReaderOptions<T> | undefined) {
    engine.assertOpen()
    const options = new Options('reader', given)
    const group = options.value('group')
    const consumer = options.value('consumer')
    const from = parseFrom('reader.from', options.value('from'))
    const settings = parseSubscription('reader', options, engine.heartbeatDefaults)
    this.#decoding = {
      schema: options.object<Schema<T>>('schema', isSchema, 'a Standard Schema (Zod, Valibot, ArkType, …)'),
      sharedPayloads: false,
    }
    this.#batchSize = options.integer('batchSize', 1, { min: 1, max: 10_000 })
    options.done()
    this.topic = checkName('topic', topic)
    this.#label = group === undefined ? '' : checkName('group', group)
    this.#consumer = consumer === undefined ? `reader-${process.pid}-${++unnamed}` : checkName('consumer', consumer)
    this.#engine = engine
    engine.consumerIds.take(this.topic, this.#label, this.#consumer)
    engine.started.add(this)
    this.#claimer = this.#subscribe(from, settings)
    // Whoever polls hears of it.
    this.#claimer.catch(() => undefined)
  }

  /** Resolves when the group is subscribed: what is published from now on reaches it. poll() waits for it by itself. */
  async ready(): Promise<this> {
    await this.#claimer
    return this
  }

  /** The next message, or null when none came within `timeout`. */
  async poll(timeout: Duration): Promise<Delivery<T> | null> {
    const ms = parseDuration('poll.timeout', timeout)
    return await this.#inTurn(() => this.#next(ms))
  }

  /** The next message, however long it takes; rejects with ClosedError when the reader is closed meanwhile. */
  async receive(): Promise<Delivery<T>> {
    const delivery = await this.#inTurn(() => this.#next(Number.POSITIVE_INFINITY))
    if (delivery === null) throw new ClosedError(`The reader of topic '${this.topic}'`)
    return delivery
  }

  async ack(delivery: Delivery<T>): Promise<void> {
    await this.#own(delivery).ack()
  }

  async nack(delivery: Delivery<T>, error?: unknown, options?: { delay?: Duration }): Promise<void> {
    await this.#own(delivery).nack(error, options)
  }

  async extend(delivery: Delivery<T>, duration?: Duration): Promise<void> {
    await this.#own(delivery).extend(duration)
  }

  /** Every message, one after another, until the reader is closed. */
  async *[Symbol.asyncIterator](): AsyncIterator<Delivery<T>> {
    while (!this.#closing.signal.aborted) {
      const delivery = await this.#inTurn(() => this.#next(Number.POSITIVE_INFINITY))
      if (delivery === null) return
      yield delivery
    }
  }

  /** Gives back what was read and not settled, so that others need not wait for the lease. Again is fine. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort()
    this.#ended.abort()
    // A database that doesn't answer is not waited for longer than this.
    await withTimeout(
      this.#turn.catch(() => undefined),
      CLOSE_MS,
    )
    this.#release()
    await withTimeout(this.#engine.settler.drain(), CLOSE_MS)
    if (this.#beating) await this.#engine.heartbeats.leave(this.#beating)
    this.#claimer.then(claimer => claimer.close()).catch(() => undefined)
    this.#engine.consumerIds.free(this.topic, this.#label, this.#consumer)
    this.#engine.started.delete(this)
  }

  async stop(): Promise<void> {
    await this.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #subscribe(from: StartPosition, settings: SubscriptionSettings): Promise<Claimer> {
    const { topic, subscription } = await subscribe(this.#engine, this.topic, this.#label, from, settings)
    const claimer = new Claimer(this.#engine, topic, subscription, this.#consumer)
    this.#beating = {
      topic,
      subscription,
      resurrected: () => {
        claimer.wake()
        // Reports what goes wrong by itself.
        void this.#engine.backfills.start(topic, subscription)
      },
      ended: reason => this.#fail(reason),
    }
    if (!this.#closing.signal.aborted) this.#engine.heartbeats.join(this.#beating)
    return claimer
  }

  /** One call at a time, in the order they came. */
  async #inTurn<R>(step: () => Promise<R>): Promise<R> {
    if (this.#closing.signal.aborted) throw new ClosedError(`The reader of topic '${this.topic}'`)
    const turn = this.#turn.then(step, step)
    this.#turn = turn
    return await turn
  }

  async #next(timeoutMs: number): Promise<Delivery<T> | null> {
    const until = performance.now() + timeoutMs
    const claimer = await this.#claimer
    while (!this.#ended.signal.aborted) {
      const buffered = this.#buffer.shift()
      const delivery = buffered && (await this.#deliver(buffered.lease, buffered.index))
      if (delivery) return delivery
      if (buffered) continue
      const left = Math.max(0, until - performance.now())
      const lease = await claimer.next({ limit: this.#batchSize, timeoutMs: left, signal: this.#ended.signal })
      if (lease === null) break
      this.#buffer = lease.lease.messages.map((_, index) => ({ lease, index }))
      for (const held of this.#held) if (held.settled) this.#held.delete(held)
    }
    if (this.#failure) throw this.#failure
    return null
  }

  /** Whoever waits hears of it, and whoever asks later. */
  #fail(reason: Error): void {
    this.#failure ??= reason
    this.#ended.abort()
  }

  /** A payload that can't be decoded is a failed attempt, and the next message's turn. */
  async #deliver(lease: HeldLease, index: number): Promise<Delivery<T> | undefined> {
    const raw = lease.lease.messages[index]
    // Its lease ran out while it waited here: it belongs to others now.
    if (raw === undefined || lease.expired) return undefined
    try {
      const payload = await decodePayload(this.#engine, this.topic, raw, this.#decoding)
      const delivery = new LeasedDelivery(this.#engine, lease, index, raw, payload)
      this.#held.add(delivery)
      return delivery
    } catch (error) {
      new LeasedDelivery(this.#engine, lease, index, raw, undefined).fail(error)
      return undefined
    }
  }

  #own(delivery: Delivery<T>): LeasedDelivery<T> {
    if (delivery instanceof LeasedDelivery) return delivery
    throw new ConfigError('delivery', delivery, 'a delivery that poll() or receive() of this reader gave')
  }

  #release(): void {
    for (const { lease, index } of this.#buffer) {
      const raw = lease.lease.messages[index]
      if (raw) new LeasedDelivery(this.#engine, lease, index, raw, undefined).release()
    }
    this.#buffer = []
    const reason = new TidemarkError('TIDEMARK_STOPPED', 'The reader was closed before the message was settled')
    for (const delivery of this.#held) if (!delivery.lease.expired) delivery.giveBack(reason)
    this.#held.clear()
  }
}
