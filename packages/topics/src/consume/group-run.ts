import { setTimeout as delay } from 'node:timers/promises'
import { type Backoff, backoffMs, spread } from '../backoff.ts'
import { NamespaceGoneError, StoppedError, SubscriptionGoneError } from '../errors.ts'
import type { Runtime } from '../runtime.ts'
import { withTimeout } from '../with-timeout.ts'
import type { Claimer } from './claimer.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { Beating } from './heartbeat-sender.ts'
import type { HeldLease } from './held-lease.ts'
import { LeaseKeeper } from './lease-keeper.ts'

/** Batch size before any handler has been timed. */
const FIRST_BATCH = 16
/** A claim takes about this much work at once, and never more than an eighth of the lease. */
const WORK_PER_CLAIM_MS = 1_000
const RETRY: Backoff = { initialMs: 100, maxMs: 5_000, factor: 2 }

type GroupRunOptions = {
  readonly batchSize: number
  readonly autoExtendMs: number | undefined
  /** Called when the subscription or its namespace is gone, so that the group stops. */
  readonly onEnded: (reason: Error) => void
}

/** A running group, from its start() to its stop(): claims pages and dispatches them to the group's consumers. */
export class GroupRun<T> {
  readonly claimer: Claimer
  readonly #runtime: Runtime
  readonly #dispatcher: Dispatcher<T>
  readonly #batchSize: number
  readonly #onEnded: (reason: Error) => void
  readonly #keeper: LeaseKeeper
  readonly #beating: Beating
  readonly #stopping = new AbortController()
  #loop: Promise<void> = Promise.resolve()

  constructor(runtime: Runtime, dispatcher: Dispatcher<T>, claimer: Claimer, options: GroupRunOptions) {
    this.claimer = claimer
    this.#runtime = runtime
    this.#dispatcher = dispatcher
    this.#batchSize = options.batchSize
    this.#onEnded = options.onEnded
    this.#keeper = new LeaseKeeper(runtime, dispatcher, claimer, options.autoExtendMs)
    this.#beating = {
      topic: claimer.topic,
      subscription: claimer.subscription,
      resurrected: () => {
        claimer.wake()
        // Reports its own failures.
        void runtime.backfills.start(claimer.topic, claimer.subscription)
      },
      ended: options.onEnded,
    }
  }

  /** From here on the group sends heartbeats. */
  join(): void {
    this.#runtime.heartbeats.join(this.#beating)
    this.#dispatcher.onMoving = () => this.claimer.wake()
  }

  /** Consumes until `finish()`. */
  consume(): void {
    this.#loop = this.#consume()
  }

  /** Stops claiming, releases what has not been started, and waits for running handlers. */
  async finish(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs
    this.#stopping.abort()
    this.#dispatcher.wakeWaiters()
    // An unanswered claim is not waited for; what it may return is released.
    await withTimeout(this.#loop, timeoutMs)
    this.#dispatcher.releaseQueued()
    this.#dispatcher.releaseChecked()
    await withTimeout(this.#dispatcher.room(1), deadline - performance.now())
    this.#dispatcher.abortRunning(new StoppedError('The group was stopped before the handler finished'))
    await withTimeout(this.#runtime.settler.drain(), Math.max(1_000, deadline - performance.now()))
    await this.#runtime.heartbeats.leave(this.#beating, Math.max(1_000, deadline - performance.now()))
    this.#keeper.stop()
    this.claimer.close()
  }

  /** The next page is claimed before this one is processed, so the database and the handlers work in parallel. */
  async #consume(): Promise<void> {
    const { signal } = this.#stopping
    let next: Promise<HeldLease | null> | undefined
    while (!signal.aborted) {
      next ??= this.#claim()
      const held = await next
      next = undefined
      if (held === null) continue
      if (this.#dispatcher.outstanding + held.open <= this.#pageLimit()) next = this.#claim()
      // Lets the claim be sent, and other work have its turn: handlers may never yield.
      await new Promise(resolve => setImmediate(resolve))
      if (signal.aborted) this.#giveBack(held)
      else {
        this.#dispatcher.dispatch(held)
        this.#keeper.watch(held)
      }
      if (next === undefined) await this.#dispatcher.room(this.#pageLimit() + 1)
    }
    const unused = await next
    if (unused) this.#giveBack(unused)
  }

  /** A lease, or null when stopping. Failures are reported where they happen, and retried for ever. */
  async #claim(): Promise<HeldLease | null> {
    const { signal } = this.#stopping
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await this.claimer.next({
          limit: this.#pageLimit(),
          timeoutMs: Number.POSITIVE_INFINITY,
          signal,
          holdOffMs: () => this.#dispatcher.holdOffMs,
        })
      } catch (error) {
        if (error instanceof SubscriptionGoneError || error instanceof NamespaceGoneError) {
          this.#onEnded(error)
          return null
        }
        await delay(spread(backoffMs(RETRY, failures)), undefined, { signal }).catch(() => undefined)
      }
    }
    return null
  }

  /** As much as the handlers process in about a second, so that other processes get a share. */
  #pageLimit(): number {
    const { averageMs, concurrency } = this.#dispatcher
    const { leaseMs, isSingleAttempt } = this.claimer
    if (isSingleAttempt) return concurrency
    if (averageMs === undefined) return Math.min(this.#batchSize, Math.max(FIRST_BATCH, concurrency))
    const workMs = leaseMs === 0 ? WORK_PER_CLAIM_MS : Math.min(WORK_PER_CLAIM_MS, leaseMs / 8)
    const fits = Math.floor((workMs / Math.max(averageMs, 0.001)) * concurrency)
    return Math.min(this.#batchSize, Math.max(concurrency, fits))
  }

  #giveBack(held: HeldLease): void {
    const { messages, slots } = held.lease
    for (let index = 0; index < messages.length; index++) held.release(slots?.[index] ?? index)
    this.#runtime.settler.touch(held)
  }
}
