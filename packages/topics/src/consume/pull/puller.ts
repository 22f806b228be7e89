import { type StoredMessage, toStoredMessage } from '../../admin/stored-message.ts'
import type { Duration } from '../../options/duration.ts'
import { checkName } from '../../options/names.ts'
import { Options } from '../../options/options.ts'
import { rawMessageBytes } from '../../payload/raw-message.ts'
import type { Runtime } from '../../runtime.ts'
import type { StartPosition } from '../../stores/subscription-record.ts'
import type { SubscriptionSettings } from '../../stores/subscriptions.ts'
import { withTimeout } from '../../with-timeout.ts'
import { Claimer } from '../claimer.ts'
import type { HeldLease } from '../held-lease.ts'
import { type From, parseFrom } from '../start-position.ts'
import { type Subscribed, subscribe } from '../subscribe.ts'
import { parseSubscription } from '../subscription-options.ts'
import { PullGroups } from './pull-groups.ts'
import { decodeReceipt, encodeReceipt, MOST_PULLED, receiptOf } from './receipt.ts'
import { ReceiptKey } from './receipt-key.ts'
import { extend, type PullSettlement, settle } from './settlement.ts'

/** Options of `pull`. */
export type PullOptions = {
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

/** A pulled message. Its payload is not decoded, because the client may use another language. */
export type PulledMessage = StoredMessage & {
  /** Number of the attempt, starting at 1. */
  readonly attempt: number
  /** Fencing token: grows with every claim of this message by this group. */
  readonly version: number
}

/** Result of `pull`. */
export type Pulled = {
  /** Receipt for `settle` and `extend`, in any process; null if there were no messages. */
  readonly receipt: string | null
  /** Remaining lease in milliseconds; 0 never expires. */
  readonly leaseMs: number
  /** The claimed messages. */
  readonly messages: readonly PulledMessage[]
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
}

const DEFAULT_BYTES = 16 * 1024 * 1024
const CLOSE_MS = 10_000

/** Claims for those who can't stay: nothing of the lease is kept here, all of it is in the receipt. */
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

  async pull(topic: string, group: string | undefined, given: PullOptions | undefined): Promise<Pulled> {
    const plan = this.#parse(given)
    checkName('topic', topic)
    const label = group === undefined ? '' : checkName('group', group)
    const joined = await this.#groups.join(topic, label, () =>
      subscribe(this.#runtime, topic, label, plan.from, plan.settings),
    )
    this.#groups.count(joined, plan.consumer)
    const pulling = this.#claim(joined, plan)
    this.#pulling.add(pulling)
    try {
      return await pulling
    } catch (error) {
      this.#groups.forget(joined)
      throw error
    } finally {
      this.#pulling.delete(pulling)
    }
  }

  /** Ends the waits, gives back what comes of them, and sends the last heartbeats. */
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
    // Before anything is claimed: a claim whose receipt can't be made would be held for nobody.
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

  /** undefined: nothing of it is left to hand out. */
  async #handOut(held: HeldLease, { consumer, maxBytes, signal }: Plan, key: Uint8Array): Promise<Pulled | undefined> {
    const { lease, topic, subscription } = held
    const count = signal.aborted ? 0 : fitting(held, maxBytes)
    for (let index = count; index < lease.messages.length; index++) held.release(lease.slots?.[index] ?? index)
    // The slots of messages that are gone were acked with the first look at the lease.
    if (held.open < lease.size) this.#runtime.settler.touch(held)
    if (count === 0) return undefined
    const { termMs } = held
    this.#groups.busyFor(subscription.uid, termMs)
    const handed = { ...lease, ...firstOf(held, count) }
    return {
      receipt: encodeReceipt(receiptOf(handed, topic, subscription, consumer), key),
      leaseMs: termMs,
      messages: handed.messages.map((message, index) => ({
        ...toStoredMessage(topic, message),
        attempt: lease.attempts?.[index] ?? 1,
        version: lease.versions?.[index] ?? 1,
      })),
    }
  }

  #parse(given: PullOptions | undefined): Plan {
    const options = new Options('pull', given)
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
      reserve: options.function<NonNullable<PullOptions['reserve']>>('reserve'),
    }
    options.done()
    return plan
  }
}

/** How many of its messages come to no more than this; one at least. */
function fitting({ lease }: HeldLease, maxBytes: number): number {
  let bytes = 0
  const beyond = lease.messages.findIndex((message, index) => {
    bytes += rawMessageBytes(message)
    return index > 0 && bytes > maxBytes
  })
  return beyond === -1 ? lease.messages.length : beyond
}

function firstOf(
  { lease }: HeldLease,
  count: number,
): Pick<HeldLease['lease'], 'messages' | 'slots' | 'versions' | 'attempts'> {
  const { messages, slots, versions, attempts } = lease
  if (count === messages.length) return { messages, slots, versions, attempts }
  return {
    messages: messages.slice(0, count),
    slots: messages.slice(0, count).map((_, index) => slots?.[index] ?? index),
    versions: versions?.slice(0, count) ?? null,
    attempts: attempts?.slice(0, count) ?? null,
  }
}
