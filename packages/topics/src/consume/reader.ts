import type { BackfillOptions } from '../backfill/backfill-plan.ts'
import { toFailure } from '../errors/failure.ts'
import { ClosedError, ConfigError, StoppedError } from '../errors.ts'
import type { ConsumerMeter } from '../observe/metrics/consumer-meter.ts'
import { type Duration, parseDuration } from '../options/duration.ts'
import { checkName } from '../options/names.ts'
import { Options } from '../options/options.ts'
import type { RawMessage } from '../payload/raw-message.ts'
import { readSchema, type Schema } from '../payload/schema.ts'
import type { Runtime } from '../runtime.ts'
import type { StartPosition } from '../stores/subscription-record.ts'
import type { SubscriptionSettings } from '../stores/subscriptions.ts'
import { withTimeout } from '../with-timeout.ts'
import { Claimer } from './claimer.ts'
import { type Decoding, decodePayload, decodingOf } from './decode.ts'
import { type Delivery, LeasedDelivery } from './delivery.ts'
import type { HeartbeatOptions } from './heartbeat-options.ts'
import type { Beating } from './heartbeat-sender.ts'
import type { HeldLease } from './held-lease.ts'
import { ReadDelivery } from './read-delivery.ts'
import { type From, parseFrom } from './start-position.ts'
import { subscribe } from './subscribe.ts'
import { parseSubscription } from './subscription-options.ts'

/** Options of a reader. */
export type ReaderOptions<T = unknown> = {
  /** Name of the group. Required for a pub-sub topic; only a label for a queue. */
  group?: string
  /** Id of the consumer, shown to operators (default: generated). */
  consumer?: string
  /** Start position of a new group (default `'now'`). */
  from?: From
  /** Heartbeats of the group. */
  heartbeat?: HeartbeatOptions
  /** Limits of the earlier messages that a new group receives; `false`: none. */
  backfill?: BackfillOptions | false
  /** Standard Schema validator. It validates every payload, and its output is what the reader receives. */
  schema?: Schema<unknown, T>
  /** Messages per claim. With 1 each message is claimed when it is asked for, so competing readers share evenly. */
  batchSize?: number
  /** Duration of a claim before others may take it over; 0 never expires (default: the lease of the topic). */
  lease?: Duration
}

/** Options of `poll` and `receive`. */
export type WaitOptions = {
  /** Aborts the wait: the call rejects with the signal's reason, and claimed messages are released. */
  signal?: AbortSignal
}

const CLOSE_MS = 10_000

let unnamed = 0

/** Receives messages one at a time. Settle each with `ack` or `nack`. */
export class Reader<T = unknown> implements AsyncDisposable {
  /** Name of the topic. */
  readonly topic: string
  readonly #runtime: Runtime
  readonly #label: string
  readonly #consumer: string
  readonly #decoding: Decoding<T>
  readonly #batchSize: number
  readonly #leaseMs: number | undefined
  readonly #claimer: Promise<Claimer>
  readonly #closing = new AbortController()
  /** Aborts with `#closing`, or when the reader has failed permanently. */
  readonly #ended = new AbortController()
  #failure: Error | undefined
  #beating: Beating | undefined
  /** The claimer, once it exists: the owner of its leases. */
  #owner: Claimer | undefined
  #meter: ConsumerMeter | undefined
  readonly #held = new Set<LeasedDelivery<T>>()
  #buffer: { held: HeldLease; index: number }[] = []
  /** The message whose schema has not answered yet. */
  #checked: { held: HeldLease; index: number; raw: RawMessage } | undefined
  #turn: Promise<void> = Promise.resolve()

  private constructor(runtime: Runtime, topic: string, given: ReaderOptions<T> | undefined) {
    runtime.assertOpen()
    const options = new Options('reader', given)
    const group = options.value('group')
    const consumer = options.value('consumer')
    const from = parseFrom('reader.from', options.value('from'))
    const settings = parseSubscription('reader', options, runtime.heartbeatDefaults)
    this.#decoding = decodingOf(runtime, topic, readSchema<T>(options))
    this.#batchSize = options.integer('batchSize', 1, { min: 1, max: 10_000 })
    this.#leaseMs = options.duration('lease', undefined)
    options.done()
    this.topic = checkName('topic', topic)
    this.#label = group === undefined ? '' : checkName('group', group)
    this.#consumer = consumer === undefined ? `reader-${process.pid}-${++unnamed}` : checkName('consumer', consumer)
    this.#runtime = runtime
    runtime.consumerIds.take(this.topic, this.#label, this.#consumer)
    runtime.started.add(this)
    this.#claimer = this.#subscribe(from, settings)
    // Reported by the next poll.
    this.#claimer.catch(() => undefined)
  }

  /** @internal */
  static create<T>(runtime: Runtime, topic: string, options?: ReaderOptions<T>): Reader<T> {
    return new Reader<T>(runtime, topic, options)
  }

  /**
   * Resolves when the group is subscribed, so that messages published from now on reach it. `poll` and `receive` wait
   * for it themselves.
   *
   * @example
   * const ready = await reader.ready()
   */
  async ready(): Promise<this> {
    await this.#claimer
    return this
  }

  /**
   * Return the next message, or null if none arrives within `timeout`. Rejects with the signal's reason when the
   * signal is aborted.
   *
   * @example
   * const next = await reader.poll('5s', { signal })
   */
  async poll(timeout: Duration, options?: WaitOptions): Promise<Delivery<T> | null> {
    const ms = parseDuration('poll.timeout', timeout)
    return await this.#inTurn(ms, signalOf('poll', options))
  }

  /**
   * Wait for the next message without limit. Rejects with `ClosedError` when the reader is closed, and with the
   * signal's reason when the signal is aborted.
   *
   * @example
   * const next = await reader.receive()
   * await reader.ack(next)
   */
  async receive(options?: WaitOptions): Promise<Delivery<T>> {
    const delivery = await this.#inTurn(Number.POSITIVE_INFINITY, signalOf('receive', options))
    if (delivery === null) throw new ClosedError(`The reader of topic '${this.topic}'`)
    return delivery
  }

  /**
   * Acknowledge a message. Rejects with `StaleDeliveryError` if another consumer has taken it over.
   *
   * @example
   * await reader.ack(delivery)
   */
  async ack(delivery: Delivery<T>): Promise<void> {
    await this.#own(delivery).ack()
  }

  /**
   * Reject a message. It is redelivered after the backoff of the topic, or after `delay`.
   *
   * @example
   * await reader.nack(delivery, new Error('mailbox full'), { delay: '5s' })
   */
  async nack(delivery: Delivery<T>, error?: unknown, options?: { delay?: Duration }): Promise<void> {
    await this.#own(delivery).nack(error, options)
  }

  /**
   * Extend the lease of a message to `duration` from now.
   *
   * @example
   * await reader.extend(delivery, '1m')
   */
  async extend(delivery: Delivery<T>, duration?: Duration): Promise<void> {
    await this.#own(delivery).extend(duration)
  }

  /** Yields every message, one after another, until the reader is closed. */
  async *[Symbol.asyncIterator](): AsyncIterator<Delivery<T>> {
    while (!this.#closing.signal.aborted) {
      const delivery = await this.#inTurn(Number.POSITIVE_INFINITY)
      if (delivery === null) return
      yield delivery
    }
  }

  /**
   * Release unsettled messages at once and close the reader. Repeating it is safe.
   *
   * @example
   * await reader.close()
   */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort()
    this.#ended.abort()
    this.#releaseChecked()
    // An unresponsive database is waited for no longer than this.
    await withTimeout(this.#turn, CLOSE_MS)
    this.#release()
    await withTimeout(this.#runtime.settler.drain(), CLOSE_MS)
    if (this.#beating) await this.#runtime.heartbeats.leave(this.#beating)
    this.#claimer.then(claimer => this.#forget(claimer)).catch(() => undefined)
    this.#runtime.consumerIds.free(this.topic, this.#label, this.#consumer)
    this.#runtime.started.delete(this)
  }

  #forget(claimer: Claimer): void {
    claimer.close()
    this.#runtime.instrumentation.metrics.forgetConsumer(this.topic, claimer.subscription.group, this.#consumer)
  }

  /**
   * The same as `close`.
   *
   * @example
   * await reader.stop()
   */
  async stop(): Promise<void> {
    await this.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #subscribe(from: StartPosition, settings: SubscriptionSettings): Promise<Claimer> {
    const { topic, subscription } = await subscribe(this.#runtime, this.topic, this.#label, from, settings)
    const claimer = new Claimer(this.#runtime, topic, subscription, this.#consumer, { leaseMs: this.#leaseMs })
    this.#owner = claimer
    this.#meter = this.#runtime.instrumentation.metrics.consumer(topic.name, subscription.group, this.#consumer)
    this.#beating = {
      topic,
      subscription,
      resurrected: () => {
        claimer.wake()
        // Reports its own failures.
        void this.#runtime.backfills.start(topic, subscription)
      },
      ended: reason => this.#fail(reason),
    }
    if (!this.#closing.signal.aborted) this.#runtime.heartbeats.join(this.#beating)
    return claimer
  }

  /**
   * One call at a time, in order. An abort ends the call at once; what its turn still returns is released before the
   * next turn begins.
   */
  async #inTurn(timeoutMs: number, signal?: AbortSignal): Promise<Delivery<T> | null> {
    if (this.#closing.signal.aborted) throw new ClosedError(`The reader of topic '${this.topic}'`)
    signal?.throwIfAborted()
    const call = Promise.withResolvers<Delivery<T> | null>()
    let isAborted = false
    const abort = (): void => {
      isAborted = true
      call.reject(signal?.reason)
    }
    const step = async (): Promise<void> => {
      if (isAborted) return
      try {
        const delivery = await this.#next(timeoutMs, signal)
        if (!isAborted) call.resolve(delivery)
        else if (delivery !== null) this.#takeBack(delivery)
      } catch (error) {
        call.reject(error)
      }
    }
    signal?.addEventListener('abort', abort, { once: true })
    this.#turn = this.#turn.then(step)
    try {
      return await call.promise
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  async #next(timeoutMs: number, given: AbortSignal | undefined): Promise<LeasedDelivery<T> | null> {
    const until = performance.now() + timeoutMs
    const signal = given === undefined ? this.#ended.signal : AbortSignal.any([this.#ended.signal, given])
    const claimer = await this.#claimer
    while (!signal.aborted) {
      const buffered = this.#buffer.shift()
      const delivery = buffered && (await this.#deliver(buffered.held, buffered.index))
      if (delivery) return delivery
      if (buffered) continue
      const left = Math.max(0, until - performance.now())
      const held = await claimer.next({ limit: this.#batchSize, timeoutMs: left, signal })
      if (held === null) break
      this.#buffer = held.lease.messages.map((_, index) => ({ held, index }))
      for (const held of this.#held) if (held.settled) this.#held.delete(held)
    }
    // Claimed for a call that was aborted meanwhile: nobody may ask again, and others need not wait for the lease.
    if (given?.aborted) this.#releaseBuffer()
    if (this.#failure) throw this.#failure
    return null
  }

  #takeBack(delivery: LeasedDelivery<T>): void {
    this.#held.delete(delivery)
    delivery.release()
  }

  /** Fails current and later calls. */
  #fail(reason: Error): void {
    this.#failure ??= reason
    this.#ended.abort()
  }

  /** A payload that can't be decoded is a failed attempt, and the next message is delivered instead. */
  async #deliver(held: HeldLease, index: number): Promise<LeasedDelivery<T> | undefined> {
    const raw = held.lease.messages[index]
    // Its lease expired while it was buffered here: it belongs to others now.
    if (raw === undefined || held.expired) return undefined
    const checked = { held, index, raw }
    this.#checked = checked
    try {
      const payload = await decodePayload(this.#runtime, this.topic, raw, this.#decoding)
      if (this.#checked !== checked) return undefined
      const { metrics } = this.#runtime.instrumentation
      this.#meter ??= metrics.consumer(this.topic, held.subscription.group, this.#consumer)
      const delivery = new ReadDelivery(this.#runtime, held, index, raw, payload, this.#meter)
      this.#held.add(delivery)
      return delivery
    } catch (error) {
      if (this.#checked === checked)
        new LeasedDelivery(this.#runtime, held, index, raw, undefined).fail(toFailure(error))
      return undefined
    } finally {
      if (this.#checked === checked) this.#checked = undefined
    }
  }

  /** Nobody waits for what its schema answers. */
  #releaseChecked(): void {
    const checked = this.#checked
    this.#checked = undefined
    if (checked === undefined) return
    new LeasedDelivery(this.#runtime, checked.held, checked.index, checked.raw, undefined).release()
  }

  /** A lease belongs to the claimer that created it, and this reader has its own. */
  #own(delivery: Delivery<T>): LeasedDelivery<T> {
    if (delivery instanceof LeasedDelivery && delivery.held.owner === this.#owner) return delivery
    throw new ConfigError(
      'delivery',
      delivery,
      'a delivery that poll() or receive() of this reader gave; ack(), nack() and extend() of the delivery itself need no reader',
    )
  }

  #release(): void {
    this.#releaseBuffer()
    const reason = new StoppedError('The reader was closed before the message was settled')
    for (const delivery of this.#held) if (!delivery.held.expired) delivery.giveBack(reason)
    this.#held.clear()
  }

  #releaseBuffer(): void {
    for (const { held, index } of this.#buffer.splice(0)) {
      const raw = held.lease.messages[index]
      if (raw) new LeasedDelivery(this.#runtime, held, index, raw, undefined).release()
    }
  }
}

function signalOf(what: string, given: WaitOptions | undefined): AbortSignal | undefined {
  if (given === undefined) return undefined
  const options = new Options(what, given)
  const signal = options.object<AbortSignal>('signal', value => value instanceof AbortSignal, 'an AbortSignal')
  options.done()
  return signal
}
