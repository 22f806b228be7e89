import { type StoredMessage, toStoredMessage } from '../../admin/stored-message.ts'
import { toFailure } from '../../errors/failure.ts'
import { ConfigError } from '../../errors.ts'
import type { Duration } from '../../options/duration.ts'
import { checkName } from '../../options/names.ts'
import { Options } from '../../options/options.ts'
import { rawMessageBytes } from '../../payload/raw-message.ts'
import { readSchema, type Schema } from '../../payload/schema.ts'
import type { Runtime } from '../../runtime.ts'
import type { StartPosition } from '../../stores/subscription-record.ts'
import type { SubscriptionSettings } from '../../stores/subscriptions.ts'
import { withTimeout } from '../../with-timeout.ts'
import { Claimer } from '../claimer.ts'
import { type Decoding, decodePayload, decodingOf } from '../decode.ts'
import { LeasedDelivery } from '../delivery.ts'
import type { HeldLease } from '../held-lease.ts'
import { type From, parseFrom } from '../start-position.ts'
import { type Subscribed, subscribe } from '../subscribe.ts'
import { parseSubscription } from '../subscription-options.ts'
import { PullGroups } from './pull-groups.ts'
import { decodeReceipt, encodeReceipt, MOST_PULLED, receiptOf } from './receipt.ts'
import { ReceiptKey } from './receipt-key.ts'
import { extend, type PullSettlement, settle } from './settlement.ts'

/** Options of `pull`. */
export type PullOptions<T = unknown> = {
  /** Standard Schema validator. It validates every payload, and its output is what is returned. */
  schema?: Schema<unknown, T>
  /** Label of the consumer, shown to operators. */
  consumer?: string
  /** Maximum number of messages. */
  max?: number
  /**
   * Maximum bytes of messages; a single larger message is still returned. Messages beyond it are released without
   * counting an attempt.
   */
  maxBytes?: number
  /** Maximum wait for a message. */
  wait?: Duration
  /** Duration of the claim (default: the lease of the topic). */
  lease?: Duration
  /** Start position of a new group. */
  from?: From
  /** Aborts the wait; claimed messages are released without counting an attempt. */
  signal?: AbortSignal
  /**
   * Called before each claim, so that a server claims only what it has memory for. The claim waits for the reservation
   * and returns at most its bytes; an unused reservation is released. If it rejects, the pull rejects and nothing is
   * claimed.
   */
  reserve?: (signal: AbortSignal) => Promise<PullReservation>
}

/** Options of a `pull` that returns payloads as they are stored. */
export type RawPullOptions = Omit<PullOptions, 'schema'> & {
  /** Return payloads as stored (JSON text or bytes), neither decoded nor validated. For servers that pass them on. */
  raw: true
}

/** Memory reserved for a pull. */
export type PullReservation = {
  /** Reserved bytes. */
  readonly bytes: number
  /**
   * Release the reservation.
   *
   * @example
   * reservation.release()
   */
  release(): void
}

/** A pulled message. */
export type PulledMessage<Payload = unknown> = Omit<StoredMessage<Payload>, 'omittedBytes'> & {
  /** Number of the attempt, starting at 1. */
  readonly attempt: number
  /** Fencing token: grows with every claim of this message by this group. */
  readonly version: number
}

/** Result of `pull`. */
export type Pulled<Payload = unknown> = {
  /** Receipt for `settle` and `extend`, in any process; null if there were no messages. */
  readonly receipt: string | null
  /** Remaining lease in milliseconds; 0 never expires. */
  readonly leaseMs: number
  /** The claimed messages. */
  readonly messages: readonly PulledMessage<Payload>[]
}

/** What a receipt refers to. */
export type ReceiptFacts = {
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group; empty for a queue. */
  readonly group: string
  /** Label of the consumer. */
  readonly consumer: string
  /** Ids of the messages. */
  readonly ids: readonly number[]
}

type Plan = {
  readonly consumer: string
  readonly max: number
  readonly maxBytes: number
  readonly waitMs: number
  readonly leaseMs: number | undefined
  readonly from: StartPosition
  readonly settings: SubscriptionSettings
  readonly signal: AbortSignal
  readonly reserve: PullOptions['reserve']
  /** undefined: payloads are returned as stored. */
  readonly decoding: Decoding<unknown> | undefined
}

const DEFAULT_BYTES = 16 * 1024 * 1024
const CLOSE_MS = 10_000

/** Claims for short-lived clients: nothing about the lease is kept here, everything is in the receipt. */
export class Puller {
  readonly #runtime: Runtime
  readonly #groups: PullGroups
  readonly #key: ReceiptKey
  readonly #pulling = new Set<Promise<Pulled>>()
  readonly #closing = new AbortController()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    this.#groups = new PullGroups(runtime)
    this.#key = new ReceiptKey(runtime.store)
    runtime.started.add(this)
  }

  async pull<T>(
    topic: string,
    group: string | undefined,
    given: PullOptions<T> | RawPullOptions | undefined,
  ): Promise<Pulled<T>> {
    const plan = this.#parse(topic, given)
    checkName('topic', topic)
    const label = group === undefined ? '' : checkName('group', group)
    using joined = await this.#groups.join({ topic, label, consumer: plan.consumer }, () =>
      subscribe(this.#runtime, topic, label, plan.from, plan.settings),
    )
    const pulling = this.#claim(joined, plan)
    this.#pulling.add(pulling)
    try {
      return (await pulling) as Pulled<T>
    } catch (error) {
      this.#groups.forget(joined)
      throw error
    } finally {
      this.#pulling.delete(pulling)
    }
  }

  /** Ends the waits, releases what they return, and sends the last heartbeats. */
  async stop(): Promise<void> {
    this.#closing.abort()
    await withTimeout(Promise.allSettled(this.#pulling), CLOSE_MS)
    await this.#groups.leaveAll()
  }

  async readReceipt(text: string): Promise<ReceiptFacts> {
    const { topic, group, consumer, ids } = decodeReceipt(text, await this.#key.read())
    return { topic, group, consumer, ids }
  }

  async deriveKey(purpose: string): Promise<Uint8Array> {
    return await this.#key.derive(purpose)
  }

  async settle(receipt: string, settlement: PullSettlement): Promise<void> {
    await settle(this.#runtime, await this.#key.read(), receipt, settlement)
  }

  async extend(receipt: string, duration?: Duration): Promise<{ leaseMs: number }> {
    const { subscriptionUid, leaseMs } = await extend(this.#runtime, await this.#key.read(), receipt, duration)
    this.#groups.busyFor(subscriptionUid, leaseMs)
    return { leaseMs }
  }

  async #claim(joined: Subscribed, plan: Plan): Promise<Pulled> {
    const { topic, subscription } = joined
    const { leaseMs } = plan
    // Before anything is claimed: a claim without a receipt would be held for nobody.
    const key = await this.#key.read()
    const claimer = new Claimer(this.#runtime, topic, subscription, plan.consumer, { leaseMs, isRemote: true })
    let reserved: PullReservation | undefined
    const { signal, reserve: ask } = plan
    const reserve = ask && (async () => (reserved = await ask(signal)))
    try {
      const until = performance.now() + plan.waitMs
      for (;;) {
        const timeoutMs = Math.max(0, until - performance.now())
        const held = await claimer.next({ limit: plan.max, maxBytes: plan.maxBytes, timeoutMs, signal, reserve })
        if (held === null) return { receipt: null, leaseMs: claimer.leaseMs, messages: [] }
        const maxBytes = Math.min(plan.maxBytes, reserved?.bytes ?? plan.maxBytes)
        const pulled = await this.#handOut(held, { ...plan, maxBytes }, key)
        if (pulled !== undefined) return pulled
        reserved?.release()
      }
    } finally {
      claimer.close()
    }
  }

  /** undefined: nothing is left to return. */
  async #handOut(held: HeldLease, plan: Plan, key: Uint8Array): Promise<Pulled | undefined> {
    const { consumer, maxBytes, signal, decoding } = plan
    const { lease, topic, subscription } = held
    const count = signal.aborted ? 0 : fitting(held, maxBytes)
    for (let index = count; index < lease.messages.length; index++) held.release(lease.slots?.[index] ?? index)
    const payloads = await this.#payloads(held, count, decoding)
    if (signal.aborted) takeBack(held, payloads)
    // The slots of missing messages were acked when the lease was first read.
    if (held.open < lease.size) this.#runtime.settler.touch(held)
    if (payloads.size === 0) return undefined
    const { termMs } = held
    this.#groups.busyFor(subscription.uid, termMs)
    const handed = { ...lease, ...partOf(held, [...payloads.keys()]) }
    return {
      receipt: encodeReceipt(receiptOf(handed, topic, subscription, consumer), key),
      leaseMs: termMs,
      messages: handed.messages.map((message, index) => ({
        ...toStoredMessage(topic, message),
        payload: payloads.get(handed.places[index] ?? 0),
        attempt: handed.attempts?.[index] ?? 1,
        version: handed.versions?.[index] ?? 1,
      })),
    }
  }

  /**
   * The payloads to return, by index in the lease. A payload that can't be decoded, or that its schema rejects, is a
   * failed attempt, as in a group.
   */
  async #payloads(
    held: HeldLease,
    count: number,
    decoding: Decoding<unknown> | undefined,
  ): Promise<Map<number, unknown>> {
    const messages = held.lease.messages.slice(0, count)
    if (decoding === undefined) return new Map(messages.map(({ payload }, index) => [index, payload]))
    const decoded = await Promise.allSettled(
      messages.map(async raw => await decodePayload(this.#runtime, held.topic.name, raw, decoding)),
    )
    const payloads = new Map<number, unknown>()
    for (const [index, raw] of messages.entries()) {
      const each = decoded[index]
      if (each?.status === 'fulfilled') payloads.set(index, each.value)
      else new LeasedDelivery(this.#runtime, held, index, raw, undefined).fail(toFailure(each?.reason))
    }
    return payloads
  }

  #parse(topic: string, given: PullOptions | RawPullOptions | undefined): Plan {
    const options = new Options('pull', given)
    const schema = readSchema(options)
    const isRaw = options.boolean('raw', false)
    if (isRaw && schema !== undefined) throw new ConfigError('pull.raw', true, 'false, or nothing, with a schema')
    const consumer = options.value('consumer')
    const signal = options.object<AbortSignal>('signal', value => value instanceof AbortSignal, 'an AbortSignal')
    const plan = {
      consumer: consumer === undefined ? 'pull' : checkName('consumer', consumer),
      max: options.integer('max', 1, { min: 1, max: MOST_PULLED }),
      maxBytes: options.integer('maxBytes', DEFAULT_BYTES, { min: 1, max: 1024 ** 3 }),
      waitMs: options.duration('wait', 0),
      leaseMs: options.duration('lease', undefined, { min: 1 }),
      from: parseFrom('pull.from', options.value('from')),
      settings: parseSubscription('pull', new Options('pull', {}), this.#runtime.heartbeatDefaults),
      signal: AbortSignal.any([this.#closing.signal, ...(signal === undefined ? [] : [signal])]),
      decoding: isRaw ? undefined : decodingOf(this.#runtime, topic, schema),
      reserve: options.function<NonNullable<PullOptions['reserve']>>('reserve'),
    }
    options.done()
    return plan
  }
}

/** How many of its messages fit into this many bytes; at least one. */
function fitting({ lease }: HeldLease, maxBytes: number): number {
  let bytes = 0
  const beyond = lease.messages.findIndex((message, index) => {
    bytes += rawMessageBytes(message)
    return index > 0 && bytes > maxBytes
  })
  return beyond === -1 ? lease.messages.length : beyond
}

/** The messages at these indexes of a lease, with their slots. */
function partOf({ lease }: HeldLease, places: readonly number[]): Part {
  const { messages, slots, versions, attempts } = lease
  if (places.length === messages.length) return { messages, slots, versions, attempts, places }
  const at = <T>(values: readonly T[]): T[] => values.filter((_, index) => isPlace.has(index))
  const isPlace = new Set(places)
  return {
    messages: at(messages),
    slots: places.map(place => slots?.[place] ?? place),
    versions: versions && at(versions),
    attempts: attempts && at(attempts),
    places,
  }
}

type Part = Pick<HeldLease['lease'], 'messages' | 'slots' | 'versions' | 'attempts'> & {
  readonly places: readonly number[]
}

/** Aborted while their schemas were answering: nobody would settle them. */
function takeBack(held: HeldLease, payloads: Map<number, unknown>): void {
  for (const index of payloads.keys()) held.release(held.lease.slots?.[index] ?? index)
  payloads.clear()
}
