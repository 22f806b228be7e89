import { inspect } from 'node:util'
import { backoffDelay } from '../backoff.ts'
import { type Failure, toFailure } from '../errors/failure.ts'
import { StaleDeliveryError } from '../errors.ts'
import { type Duration, parseDuration } from '../options/duration.ts'
import { Options } from '../options/options.ts'
import { messageIdOf } from '../payload/message-id.ts'
import type { RawMessage } from '../payload/raw-message.ts'
import type { Runtime } from '../runtime.ts'
import { type HeldLease, SLOT } from './held-lease.ts'

/** A message delivered to a handler or reader, with the methods to settle it. */
export type Delivery<T = unknown> = {
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group; empty for a queue. */
  readonly group: string
  /** Position of the message in the log. */
  readonly id: number
  /** Unique id of the message. */
  readonly messageId: string
  /** Key of the message, or null. */
  readonly key: string | null
  /** Payload type: `'json'`, `'bytes'`, or a protobuf type URL. */
  readonly type: string
  /** Headers of the message. */
  readonly headers: Readonly<Record<string, string>>
  /** Time of the publish. */
  readonly createdAt: Date
  /** Decoded payload. */
  readonly payload: T
  /** Number of the attempt, starting at 1. */
  readonly attempt: number
  /** Fencing token: grows with every claim of this message by this group. */
  readonly version: number
  /**
   * Acknowledge the message. Idempotent. Rejects with `StaleDeliveryError` if another consumer has taken over the
   * message.
   *
   * @example
   * await delivery.ack()
   */
  ack(): Promise<void>
  /**
   * Reject the message. It is redelivered after the backoff of the topic, or after `delay`; without attempts left it
   * is dead-lettered.
   *
   * @example
   * await delivery.nack(new Error('mailbox full'), { delay: '5s' })
   */
  nack(error?: unknown, options?: { delay?: Duration }): Promise<void>
  /**
   * Extend the lease to `duration` from now (default: the lease of the group or topic). It applies to all messages of
   * the same claim.
   *
   * @example
   * await delivery.extend('1m')
   */
  extend(duration?: Duration): Promise<void>
}

/** Second argument of a handler. */
export type HandlerContext = {
  /** Aborts when the lease expires or is lost, or when the group stops and its timeout is over. */
  readonly signal: AbortSignal
  /** Extend the lease while the handler needs more time. */
  readonly extend: Delivery['extend']
}

/** It also serves as the handler's context, so that no second object is created per message. */
export class LeasedDelivery<T = unknown> implements Delivery<T>, HandlerContext {
  readonly payload: T
  readonly held: HeldLease
  readonly #runtime: Runtime
  readonly #raw: RawMessage
  /** Its index among the lease's messages. */
  readonly #index: number

  constructor(runtime: Runtime, held: HeldLease, index: number, raw: RawMessage, payload: T) {
    this.payload = payload
    this.held = held
    this.#runtime = runtime
    this.#raw = raw
    this.#index = index
  }

  get id(): number {
    return this.#raw.id
  }

  get key(): string | null {
    return this.#raw.key
  }

  get attempt(): number {
    return this.held.lease.attempts?.[this.#index] ?? 1
  }

  get version(): number {
    return this.held.lease.versions?.[this.#index] ?? 1
  }

  get topic(): string {
    return this.held.topic.name
  }

  get group(): string {
    return this.held.subscription.group
  }

  get type(): string {
    return this.#raw.type ?? 'json'
  }

  get messageId(): string {
    return this.#raw.messageId ?? messageIdOf(this.held.topic.uid, this.#raw.salt, this.id)
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#raw.headers === null ? {} : JSON.parse(this.#raw.headers)
  }

  get createdAt(): Date {
    return new Date(this.#raw.createdAt)
  }

  async ack(): Promise<void> {
    await this.#settle(this.held.ack(this.#slot))
  }

  async nack(error?: unknown, given?: { delay?: Duration }): Promise<void> {
    const options = new Options('nack', given)
    const delayMs = options.duration('delay', undefined)
    options.done()
    await this.#settle(this.fail(toFailure(error ?? withoutReason()), delayMs))
  }

  get signal(): AbortSignal {
    return this.held.signal
  }

  /** Bound, so that it can be destructured from the context. */
  get extend(): Delivery['extend'] {
    return duration => this.#extend(duration)
  }

  async #extend(duration?: Duration): Promise<void> {
    const ms = duration === undefined ? this.held.termMs : parseDuration('extend', duration, { min: 1 })
    const started = performance.now()
    const live = !this.held.lost && (await this.#runtime.store.leases.extend(this.held.lease.token, ms))
    if (live) return this.held.extendTo(ms === 0 ? Number.POSITIVE_INFINITY : started + ms)
    const error = this.#staleError()
    // Its own consumer settled it while the extension was in flight: the lease ended with its work done, and nobody
    // took it over.
    if (this.settled) throw error
    this.held.lose(error)
    const { messageId, version, topic, group } = this
    this.#runtime.instrumentation.emit('stale', { topic, group, messageId, version, count: 1 })
    throw error
  }

  get settled(): boolean {
    return this.held.stateOf(this.#slot) !== SLOT.open
  }

  /** Whether it was settled as a failed attempt. */
  get failed(): boolean {
    return this.held.isNacked(this.#slot)
  }

  /** Marks it failed without waiting for the database; false if it was already settled. */
  fail(failure: Failure, delayMs?: number): boolean {
    const wait = delayMs ?? backoffDelay(this.held.topic.config.backoff, this.attempt)
    const settled = this.held.nack(this.#slot, wait, failure, this.attempt)
    if (settled) this.#runtime.settler.touch(this.held)
    return settled
  }

  /** Takes it away from its stopping consumer: a failed attempt, due at once. */
  giveBack(reason: Error): void {
    if (this.held.giveBack(this.#slot, reason, this.attempt)) this.#runtime.settler.touch(this.held)
  }

  /** Marks it done without waiting for the database; false if it was already settled. */
  done(): boolean {
    const settled = this.held.ack(this.#slot)
    if (settled) this.#runtime.settler.touch(this.held)
    return settled
  }

  /** Releases it, and waits until that is stored. */
  async released(): Promise<void> {
    await this.#settle(this.held.release(this.#slot))
  }

  /** Releases it: the claim doesn't count as an attempt. */
  release(): void {
    if (this.held.release(this.#slot)) this.#runtime.settler.touch(this.held)
  }

  /** Shown in JSON and, below, in a console: the message, without internals. */
  toJSON(): object {
    const { topic, group, id, messageId, key, type, headers, createdAt, payload, attempt, version } = this
    return { topic, group, id, messageId, key, type, headers, createdAt, payload, attempt, version }
  }

  [inspect.custom](): object {
    return this.toJSON()
  }

  get #slot(): number {
    return this.held.lease.slots?.[this.#index] ?? this.#index
  }

  #staleError(): StaleDeliveryError {
    return new StaleDeliveryError(this.topic, this.group, this.messageId, this.version)
  }

  async #settle(fresh: boolean): Promise<void> {
    const state = this.held.stateOf(this.#slot)
    if (!fresh && state === SLOT.stored) return
    if (!fresh && (state === SLOT.stale || state === SLOT.returned)) throw this.#staleError()
    const stored = this.held.stored(this.#slot)
    this.#runtime.settler.touch(this.held)
    await stored
  }
}

const withoutReason = (): Error => new Error('The message was nacked without a reason')
