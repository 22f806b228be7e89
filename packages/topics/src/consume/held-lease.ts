import { type Failure, toFailure } from '../errors/failure.ts'
import { StaleDeliveryError } from '../errors.ts'
import { messageIdOf } from '../payload/message-id.ts'
import type { RawMessage } from '../payload/raw-message.ts'
import type { Lease, Nack, Settlement, SettleResult } from '../stores/leases.ts'
import type { SubscriptionRecord } from '../stores/subscription-record.ts'
import type { TopicRecord } from '../stores/topic-record.ts'

/** Callbacks to a lease's owner when a settlement has reached the database. */
export type LeaseOwner = {
  /** The database no longer needs to remember this lease. */
  forget(token: string): void
  /** The database does not know a lease that it gave. */
  unknown?(held: HeldLease): void
}

export type LeaseTerm = {
  readonly claimedAt: number
  readonly termMs: number
  /** false: restored from a receipt instead of a claim. Messages that the receipt leaves out may have been released. */
  readonly isClaimed?: boolean
}

/**
 *     open ──ack──▶ acked ──sent──▶ pending ──answered──▶ stored | stale
 *       ├──nack, release───────────▶ pending
 *       └──its consumer stops──▶ returned
 */
export const SLOT = { open: 0, acked: 1, pending: 2, stored: 3, stale: 4, returned: 5 } as const

type Waiter = { readonly resolve: () => void; readonly reject: (error: unknown) => void }

/** A failed attempt on its way to the database, with the data for its event. */
export type PendingNack = Nack & { readonly cause: Error; readonly attempt: number }

/**
 * A lease in this process: which of its slots are settled here, and which of those are not stored in the database yet.
 */
export class HeldLease {
  #lease: Lease
  readonly topic: TopicRecord
  readonly subscription: SubscriptionRecord
  readonly owner: LeaseOwner
  readonly claimedAt: number
  /** On the monotonic clock, counted from before the claim was sent: never later than the database's deadline. */
  deadline: number
  /** Duration of the lease from its claim or last extension. */
  termMs: number
  /** Whether the settler knows that there is something to settle. */
  dirty = false
  /** Set once the database said that the lease is no longer ours. */
  lost = false
  readonly #states: Uint8Array
  #open: number
  /** Number of slots in the state `acked`: acks not sent to the database yet. */
  #acked = 0
  #nacks: PendingNack[] = []
  /** Slots whose attempt failed; few leases have any. */
  #nacked: Set<number> | undefined
  #releases: number[] = []
  readonly #waiters = new Map<number, Waiter[]>()
  #abort: AbortController | undefined
  #abortReason: unknown
  #abortTimer: NodeJS.Timeout | undefined

  constructor(
    lease: Lease,
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    owner: LeaseOwner,
    { claimedAt, termMs, isClaimed = true }: LeaseTerm,
  ) {
    this.#lease = lease
    this.topic = topic
    this.subscription = subscription
    this.owner = owner
    this.claimedAt = claimedAt
    this.termMs = termMs
    this.deadline = termMs === 0 ? Number.POSITIVE_INFINITY : claimedAt + termMs
    this.#states = new Uint8Array(lease.size)
    this.#open = lease.size
    if (isClaimed) this.#ackMissing()
  }

  get lease(): Lease {
    return this.#lease
  }

  /** Slots not settled in this process. */
  get open(): number {
    return this.#open
  }

  get expired(): boolean {
    return this.isExpiredAt(performance.now())
  }

  isExpiredAt(now: number): boolean {
    return this.lost || now >= this.deadline
  }

  stateOf(slot: number): number {
    return this.#states[slot] ?? SLOT.open
  }

  /** Whether a message with one of these ids is not settled in this process. */
  hasOpen(ids: ReadonlySet<number>): boolean {
    const { messages, slots } = this.lease
    return messages.some(({ id }, index) => ids.has(id) && this.#states[slots?.[index] ?? index] === SLOT.open)
  }

  ack(slot: number): boolean {
    if (this.#states[slot] !== SLOT.open) return false
    this.#states[slot] = SLOT.acked
    this.#acked++
    this.#open--
    return true
  }

  nack(slot: number, delayMs: number, { record, error }: Failure, attempt: number): boolean {
    if (!this.#close(slot)) return false
    this.#nacks.push({ slot, delayMs, error: record, cause: error, attempt })
    this.#nacked ??= new Set()
    this.#nacked.add(slot)
    return true
  }

  /** Whether it was settled here as a failed attempt. */
  isNacked(slot: number): boolean {
    return this.#nacked?.has(slot) ?? false
  }

  release(slot: number): boolean {
    return this.#close(slot) && this.#releases.push(slot) > 0
  }

  /** Its consumer stops: the message is returned, and a later settlement by the consumer is stale. */
  giveBack(slot: number, cause: Error, attempt: number): boolean {
    const given = this.nack(slot, 0, toFailure(cause), attempt)
    if (given) this.#states[slot] = SLOT.returned
    return given
  }

  /** Takes what has not been sent to the database; the settler is responsible for it from now on. */
  take(): Settlement & { readonly nacks: readonly PendingNack[] } {
    const settlement = {
      token: this.lease.token,
      size: this.lease.size,
      maxAttempts: this.topic.config.maxAttempts,
      acks: this.#takeAcks(),
      nacks: this.#nacks,
      releases: this.#releases,
    }
    this.#nacks = []
    this.#releases = []
    return settlement
  }

  /** The settlement did not reach the database: it is pending again. */
  putBack({ acks, nacks, releases }: ReturnType<HeldLease['take']>): void {
    for (const slot of acks === 'all' ? this.#states.keys() : acks) this.#states[slot] = SLOT.acked
    this.#acked += acks === 'all' ? this.lease.size : acks.length
    this.#nacks = [...nacks, ...this.#nacks]
    this.#releases = [...releases, ...this.#releases]
  }

  /** Resolves when the slot's settlement is stored; rejects with StaleDeliveryError if it came too late. */
  stored(slot: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(slot) ?? []
      this.#waiters.set(slot, [...waiters, { resolve, reject }])
    })
  }

  /**
   * Whether somebody waits for a settlement to be stored: a caller, the next suspects, or a claim with single attempts.
   */
  get isAwaited(): boolean {
    if (this.#waiters.size > 0) return true
    return this.#open === 0 && (this.lease.suspects !== 'none' || this.topic.config.maxAttempts === 1)
  }

  answer({ acks, nacks, releases }: Settlement, { stale, finished }: SettleResult): void {
    if (acks === 'all') this.#states.fill(SLOT.stored)
    else for (const slot of acks) this.#states[slot] = SLOT.stored
    for (const { slot } of nacks) if (this.#states[slot] === SLOT.pending) this.#states[slot] = SLOT.stored
    for (const slot of releases) this.#states[slot] = SLOT.stored
    for (const slot of stale) this.#states[slot] = SLOT.stale
    if (stale.length > 0) this.lose()
    for (const slot of [...this.#waiters.keys()]) {
      const state = this.#states[slot]
      if (state === SLOT.stale) this.#answerWaiters(slot, waiter => waiter.reject(this.staleError(slot)))
      else if (state === SLOT.stored) this.#answerWaiters(slot, waiter => waiter.resolve())
    }
    if (finished && this.#open === 0) {
      clearTimeout(this.#abortTimer)
      // Drops the messages. V8 may have moved the dead lease to its old generation, where it would keep its page until
      // the next full collection, and young collections would copy the page there too.
      this.#lease = { ...this.#lease, messages: [] }
      this.owner.forget(this.lease.token)
    }
  }

  /** The settlement failed for a reason that retrying won't cure. */
  refuse(error: unknown): void {
    for (const slot of [...this.#waiters.keys()]) this.#answerWaiters(slot, waiter => waiter.reject(error))
  }

  lose(reason: Error = this.staleError(0)): void {
    this.lost = true
    this.abort(reason)
  }

  /** Aborts when the lease expires or is lost, and when the group stops and its timeout is over. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#abortReason !== undefined) this.#abort.abort(this.#abortReason)
      else this.#armAbort()
    }
    return this.#abort.signal
  }

  abort(reason: unknown): void {
    this.#abortReason ??= reason
    this.#abort?.abort(this.#abortReason)
    clearTimeout(this.#abortTimer)
  }

  extendTo(deadline: number): void {
    this.deadline = deadline
    clearTimeout(this.#abortTimer)
    if (this.#abort !== undefined) this.#armAbort()
  }

  /** Only until the lease is completely settled; a delivery that lives longer has its own message. */
  staleError(slot: number): StaleDeliveryError {
    const message = this.messageIn(slot)
    const messageId = message && (message.messageId ?? messageIdOf(this.topic.uid, message.salt, message.id))
    return new StaleDeliveryError(this.topic.name, this.subscription.group, messageId ?? '', this.versionIn(slot))
  }

  messageIn(slot: number): RawMessage | undefined {
    return this.lease.messages[this.#indexOf(slot)]
  }

  versionIn(slot: number): number {
    return this.lease.versions?.[this.#indexOf(slot)] ?? 1
  }

  /** Nearly always the slot itself: searching for each message of a large page would be quadratic. */
  #indexOf(slot: number): number {
    const { slots } = this.lease
    return slots === null || slots[slot] === slot ? slot : slots.indexOf(slot)
  }

  #close(slot: number): boolean {
    if (this.#states[slot] !== SLOT.open) return false
    this.#states[slot] = SLOT.pending
    this.#open--
    return true
  }

  /** Acks are kept as one byte each until here: a page that was acked completely never becomes a list. */
  #takeAcks(): number[] | 'all' {
    const acked = this.#acked
    this.#acked = 0
    if (acked === this.lease.size) {
      this.#states.fill(SLOT.pending)
      return 'all'
    }
    const slots: number[] = []
    for (let slot = 0; slots.length < acked && slot < this.lease.size; slot++) {
      if (this.#states[slot] !== SLOT.acked) continue
      this.#states[slot] = SLOT.pending
      slots.push(slot)
    }
    return slots
  }

  /** A slot whose row is gone from the log has nothing to deliver. */
  #ackMissing(): void {
    const { slots, size } = this.lease
    if (slots === null || slots.length === size) return
    const present = new Set(slots)
    for (let slot = 0; slot < size; slot++) if (!present.has(slot)) this.ack(slot)
  }

  #armAbort(): void {
    const left = this.deadline - performance.now()
    // Longer than a timer can wait: the lease will be extended or settled long before.
    if (left > 0x7fff_ffff) return
    this.#abortTimer = setTimeout(() => this.#abortIfExpired(), Math.max(0, Math.ceil(left)))
    this.#abortTimer.unref()
  }

  /** A timer may fire up to a millisecond early: messages that wait in the page would still be delivered. */
  #abortIfExpired(): void {
    if (this.expired) this.abort(this.staleError(0))
    else this.#armAbort()
  }

  #answerWaiters(slot: number, answer: (waiter: Waiter) => void): void {
    const waiters = this.#waiters.get(slot)
    if (waiters === undefined) return
    this.#waiters.delete(slot)
    for (const waiter of waiters) answer(waiter)
  }
}
