import { setTimeout as delay } from 'node:timers/promises'
import { type Backoff, backoffMs, spread } from '../backoff.ts'
import { toError } from '../errors/failure.ts'
import {
  ClosedError,
  DatabaseError,
  DatabaseLockedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  NamespaceGoneError,
  OutcomeUnknownError,
} from '../errors.ts'
import type { Events, Instrumentation } from '../observe/instrumentation.ts'
import { messageIdOf } from '../payload/message-id.ts'
import type { SettleResult } from '../stores/leases.ts'
import type { Store } from '../stores/store.ts'
import type { HeartbeatSender } from './heartbeat-sender.ts'
import type { HeldLease } from './held-lease.ts'
import type { WakeHub } from './wake-hub.ts'

/** Acks that nobody waits for may wait this long for others, so that a fast group settles several pages at once. */
const LINGER_MS = 4
const RETRY: Backoff = { initialMs: 50, maxMs: 2_000, factor: 2 }
/** How long a caller's `ack()` waits for an unavailable database; groups wait as long as it takes. */
const CALLER_PATIENCE_MS = 30_000

type Pending = { readonly held: HeldLease; readonly settlement: ReturnType<HeldLease['take']> }

/**
 * Sends acks and nacks to the database. One transaction is in flight at a time and includes whatever all groups of the
 * process have settled meanwhile, so the cost is per round trip, not per message.
 */
export class Settler {
  readonly #store: Store
  readonly #instrumentation: Instrumentation
  readonly #wakeHub: WakeHub
  readonly #heartbeats: HeartbeatSender
  readonly #dirty = new Set<HeldLease>()
  #running: Promise<void> | undefined
  #hurry: (() => void) | undefined
  #draining = 0
  #failingSince: number | undefined
  /** Waiting settlements may be stored nevertheless; settling again is harmless. */
  #unknown: OutcomeUnknownError | undefined
  readonly #stopped = new AbortController()
  /** A copy of the signal's state: reading the signal would cost a tenth of a delivery. */
  #isStopped = false

  constructor(store: Store, instrumentation: Instrumentation, wakeHub: WakeHub, heartbeats: HeartbeatSender) {
    this.#store = store
    this.#instrumentation = instrumentation
    this.#wakeHub = wakeHub
    this.#heartbeats = heartbeats
  }

  /** The lease has something to settle. After `stop()` nothing is accepted any more, and waiters are told so. */
  touch(held: HeldLease): void {
    if (this.#isStopped) {
      held.refuse(new ClosedError('This Tidemark'))
      return
    }
    if (held.isAwaited) this.#hurry?.()
    if (held.dirty) return
    this.#mark(held)
    this.#running ??= this.#run()
  }

  #mark(held: HeldLease): void {
    held.dirty = true
    this.#dirty.add(held)
  }

  /** Resolves when everything settled before is stored. */
  async drain(): Promise<void> {
    this.#draining++
    this.#hurry?.()
    while (this.#running !== undefined) await this.#running
    this.#draining--
  }

  /** Gives up on what the database doesn't accept. */
  stop(): void {
    this.#isStopped = true
    this.#stopped.abort()
  }

  async #run(): Promise<void> {
    await this.#linger()
    for (let failures = 0; this.#dirty.size > 0 && !this.#isStopped; ) {
      if (await this.#flush()) {
        failures = 0
        if (this.#dirty.size > 0) await this.#linger()
        continue
      }
      const waitMs = spread(backoffMs(RETRY, ++failures))
      await delay(waitMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined)
    }
    this.#running = undefined
    if (!this.#isStopped) return
    for (const held of this.#dirty) held.refuse(this.#unknown ?? new ClosedError('This Tidemark'))
  }

  /** Cut short when somebody waits for a settlement. */
  async #linger(): Promise<void> {
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, LINGER_MS)
      this.#hurry = () => {
        clearTimeout(timer)
        setImmediate(resolve)
      }
      if (this.#draining > 0 || [...this.#dirty].some(held => held.isAwaited)) this.#hurry()
    })
    this.#hurry = undefined
  }

  /** False: the database is unavailable, and waiting is worthwhile. */
  async #flush(): Promise<boolean> {
    const pending = [...this.#dirty].map(held => ({ held, settlement: held.take() }))
    for (const { held } of pending) held.dirty = false
    this.#dirty.clear()
    return await this.#send(pending)
  }

  /** A settlement that the database refuses is found by bisection, so that it doesn't block the others. */
  async #send(pending: readonly Pending[]): Promise<boolean> {
    const started = performance.now()
    let results: SettleResult[]
    try {
      results = await this.#store.leases.settle(pending.map(({ settlement }) => settlement))
    } catch (error) {
      if (error instanceof NamespaceGoneError) return this.#giveUp(pending, error)
      if (isAway(error)) return this.#putBack(pending, error)
      const [first, second] = halves(pending)
      if (second.length === 0) return this.#setAside(first, error)
      const sent = await this.#send(first)
      return (await this.#send(second)) && sent
    }
    this.#failingSince = undefined
    this.#unknown = undefined
    this.#instrumentation.metrics.settle.record(performance.now() - started)
    for (const [index, { held, settlement }] of pending.entries()) {
      const result = results[index]
      if (result) this.#report(held, settlement, result)
    }
    return true
  }

  #putBack(pending: readonly Pending[], error: unknown): false {
    this.#failingSince ??= performance.now()
    if (error instanceof OutcomeUnknownError) this.#unknown = error
    const refuse = !isPassing(error) || performance.now() - this.#failingSince > CALLER_PATIENCE_MS
    for (const { held, settlement } of pending) {
      held.putBack(settlement)
      if (refuse) held.refuse(this.#unknown ?? unanswered(error))
      if (!held.dirty) this.#mark(held)
    }
    this.#tellOf(pending, error)
    return false
  }

  /** Nothing can be settled any more, now or later. */
  #giveUp(pending: readonly Pending[], error: NamespaceGoneError): true {
    for (const { held } of pending) {
      held.refuse(error)
      held.lose(error)
    }
    return true
  }

  /** Retried later on its own; the others go on meanwhile. */
  #setAside(pending: readonly Pending[], error: unknown): true {
    for (const { held, settlement } of pending) {
      held.putBack(settlement)
      held.refuse(unanswered(error))
      const timer = setTimeout(() => this.touch(held), RETRY.maxMs)
      timer.unref()
    }
    this.#tellOf(pending, error)
    return true
  }

  #tellOf([first]: readonly Pending[], error: unknown): void {
    const topic = first?.held.topic.name ?? ''
    this.#instrumentation.emit('error', { topic, action: 'settle', error: toError(error) })
  }

  #report(held: HeldLease, settlement: Pending['settlement'], result: SettleResult): void {
    const { acks, nacks, releases } = settlement
    const where = { topic: held.topic.name, group: held.subscription.group }
    const stale = new Set(result.stale)
    const accepted = (slots: readonly number[]): number =>
      stale.size === 0 ? slots.length : slots.filter(slot => !stale.has(slot)).length
    const acked = acks === 'all' ? held.lease.size - stale.size : accepted(acks)
    if (acked > 0) this.#instrumentation.emit('acked', { ...where, count: acked })
    const failed = accepted(nacks.map(({ slot }) => slot))
    this.#heartbeats.count(held.subscription.id, { processed: acked, failed })
    const released = accepted(releases)
    if (released > 0) this.#instrumentation.emit('released', { ...where, count: released })
    const deadLettered = new Set(result.deadLettered)
    const nacked: Events['nacked'][] = []
    for (const { slot, cause, attempt, delayMs } of nacks) {
      if (stale.has(slot)) continue
      const dead = deadLettered.has(slot)
      const message = held.messageIn(slot)
      const messageId = message?.messageId ?? messageIdOf(held.topic.uid, message?.salt ?? 0, message?.id ?? 0)
      nacked.push({ ...where, messageId, attempt, error: cause, retryInMs: dead ? null : delayMs })
    }
    this.#instrumentation.emitAll('nacked', nacked)
    if (result.deadLettered.length > 0) {
      this.#instrumentation.emit('dead-lettered', { ...where, count: result.deadLettered.length })
    }
    const [firstStale] = stale
    if (firstStale !== undefined) {
      const { messageId, version } = held.staleError(firstStale)
      this.#instrumentation.emit('stale', { ...where, messageId, version, count: stale.size })
    }
    if (result.unknown) held.owner.unknown?.(held)
    held.answer(settlement, result)
    // Others of this process may take released messages; the store tells other processes.
    if (released > 0 || nacks.length > 0) this.#wakeHub.wake(held.topic.id)
  }
}

/** It would refuse any settlement now. */
const isAway = (error: unknown): boolean => error instanceof DatabaseError && error.code !== 'TIDEMARK_DATABASE'

/** What a caller is told who is no longer kept waiting: the settlement may be stored at any later time. */
const unanswered = (error: unknown): unknown =>
  error instanceof DatabaseError && !(error instanceof OutcomeUnknownError)
    ? OutcomeUnknownError.whileRetried(error)
    : error

/** Temporary: callers wait for a while. */
const isPassing = (error: unknown): boolean =>
  [DatabaseUnreachableError, DatabaseLockedError, OutcomeUnknownError, DatabaseTimeoutError].some(
    each => error instanceof each,
  )

/**
 * Halves several leases, or one lease's acks and failures, or its failures; the second half is empty if nothing can be
 * halved.
 */
function halves(pending: readonly Pending[]): [readonly Pending[], readonly Pending[]] {
  const [only] = pending
  if (pending.length !== 1 || only === undefined) return cut(pending)
  const { held, settlement } = only
  const { acks, nacks, releases } = settlement
  const part = (some: Partial<Pending['settlement']>): Pending[] => [
    { held, settlement: { ...settlement, acks: [], nacks: [], releases: [], ...some } },
  ]
  if (acks.length > 0 && nacks.length + releases.length > 0) return [part({ acks }), part({ nacks, releases })]
  if (releases.length > 0 && nacks.length > 0) return [part({ releases }), part({ nacks })]
  if (nacks.length < 2) return [pending, []]
  const [first, second] = cut(nacks)
  return [part({ nacks: first }), part({ nacks: second })]
}

function cut<T>(list: readonly T[]): [T[], T[]] {
  const middle = Math.ceil(list.length / 2)
  return [list.slice(0, middle), list.slice(middle)]
}
