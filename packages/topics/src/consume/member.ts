import type { Delivery, LeasedDelivery } from './delivery.ts'
import { RunningSet } from './running-set.ts'

export type HandlerContext = {
  /** Aborts when the lease runs out or is lost, or when the group stops and its time is up. */
  readonly signal: AbortSignal
  /** Keeps the lease while the handler needs longer. */
  readonly extend: Delivery['extend']
}

export type Handler<T> = (message: Delivery<T>, context: HandlerContext) => unknown
export type Filter<T> = (message: Delivery<T>) => boolean

/** What a member tells its group. */
export type MemberEvents<T> = {
  finished(delivery: LeasedDelivery<T>, error: Error | undefined): void
  /** Its lease ran out while it waited: it is not started. */
  expired(delivery: LeasedDelivery<T>): void
}

/** Handlers are timed one in so many: the clock would cost as much as a small handler. */
const TIMED_ONE_IN = 16

/**
 * One consumer of a group: a queue, and as many workers as its concurrency. A worker takes from the queue until it is
 * empty; awaiting the handler in its loop costs a message less than callbacks of its own would.
 */
export class Member<T> {
  readonly id: string
  readonly filter: Filter<T> | undefined
  readonly concurrency: number
  /** Handlers under way. */
  readonly running = new RunningSet<LeasedDelivery<T>>()
  readonly #handler: Handler<T>
  readonly #events: MemberEvents<T>
  #queue: LeasedDelivery<T>[] = []
  #head = 0
  #workers = 0
  #started = 0

  constructor(
    id: string,
    handler: Handler<T>,
    { filter, concurrency }: { filter: Filter<T> | undefined; concurrency: number },
    events: MemberEvents<T>,
  ) {
    this.id = id
    this.#handler = handler
    this.filter = filter
    this.concurrency = concurrency
    this.#events = events
  }

  enqueue(delivery: LeasedDelivery<T>): void {
    this.#queue.push(delivery)
  }

  /** Starts workers while there is work for them. */
  pump(): void {
    while (this.#workers < this.concurrency && this.#head < this.#queue.length) void this.#work()
  }

  /** Takes back what has not been started and `which` selects. */
  takeQueued(which: (delivery: LeasedDelivery<T>) => boolean = () => true): LeasedDelivery<T>[] {
    const waiting = this.#queue.slice(this.#head)
    this.#queue = waiting.filter(delivery => !which(delivery))
    this.#head = 0
    return waiting.filter(which)
  }

  /** Gives up on a handler that runs: its worker ends with it, and another takes its place. */
  abandon(delivery: LeasedDelivery<T>): void {
    if (this.running.delete(delivery)) this.#workers--
  }

  /** Never rejects: what the handler throws is the message's failure. */
  async #work(): Promise<void> {
    this.#workers++
    for (let delivery = this.#next(); delivery !== undefined; delivery = this.#next()) {
      let error: Error | undefined
      try {
        const outcome = this.#handler(delivery, new Context(delivery))
        if (isThenable(outcome)) {
          this.running.add(delivery)
          await outcome
        }
      } catch (thrown) {
        error = toError(thrown)
      }
      if (delivery.place >= 0) this.running.delete(delivery)
      else if (delivery.abandoned) return
      this.#events.finished(delivery, error)
    }
    this.#workers--
  }

  /** The next delivery whose lease is still good. */
  #next(): LeasedDelivery<T> | undefined {
    for (;;) {
      const delivery = this.#queue[this.#head]
      if (delivery === undefined) break
      this.#head++
      const now = performance.now()
      if (delivery.lease.isExpiredAt(now)) {
        this.#events.expired(delivery)
        continue
      }
      delivery.startedAt = Math.floor(now)
      if (this.#started++ % TIMED_ONE_IN === 0) delivery.timedFrom = now
      return delivery
    }
    this.#queue = []
    this.#head = 0
    return undefined
  }
}

/** Made for every message, so it makes nothing itself until it is asked. */
class Context implements HandlerContext {
  readonly #delivery: LeasedDelivery<unknown>

  constructor(delivery: LeasedDelivery<unknown>) {
    this.#delivery = delivery
  }

  get signal(): AbortSignal {
    return this.#delivery.lease.signal
  }

  get extend(): Delivery['extend'] {
    return duration => this.#delivery.extend(duration)
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
