import type { Delivery, LeasedDelivery } from './delivery.ts'

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
  finished(delivery: LeasedDelivery<T>, error: Error | undefined, ms: number | undefined): void
  /** Its lease ran out while it waited: it is not started. */
  expired(delivery: LeasedDelivery<T>): void
}

/** Handlers are timed one in so many: the clock would cost as much as a small handler. */
const TIMED_ONE_IN = 16

/** One consumer of a group: a queue, and as many handlers at a time as its concurrency. */
export class Member<T> {
  readonly id: string
  readonly filter: Filter<T> | undefined
  readonly concurrency: number
  /** Handlers under way, and since when. */
  readonly running = new Map<LeasedDelivery<T>, number>()
  readonly #handler: Handler<T>
  readonly #events: MemberEvents<T>
  #queue: LeasedDelivery<T>[] = []
  #head = 0
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

  /** Starts handlers while there is room for them. */
  pump(): void {
    while (this.running.size < this.concurrency) {
      const delivery = this.#queue[this.#head]
      if (delivery === undefined) break
      this.#head++
      if (delivery.lease.expired) this.#events.expired(delivery)
      else this.#start(delivery)
    }
    if (this.#head === this.#queue.length && this.#head > 0) {
      this.#queue = []
      this.#head = 0
    }
  }

  /** Takes back what has not been started and `which` selects. */
  takeQueued(which: (delivery: LeasedDelivery<T>) => boolean = () => true): LeasedDelivery<T>[] {
    const waiting = this.#queue.slice(this.#head)
    this.#queue = waiting.filter(delivery => !which(delivery))
    this.#head = 0
    return waiting.filter(which)
  }

  #start(delivery: LeasedDelivery<T>): void {
    const startedAt = this.#started++ % TIMED_ONE_IN === 0 ? performance.now() : undefined
    const elapsed = (): number | undefined => (startedAt === undefined ? undefined : performance.now() - startedAt)
    let outcome: unknown
    try {
      outcome = this.#handler(delivery, new Context(delivery))
    } catch (error) {
      this.#events.finished(delivery, toError(error), elapsed())
      return
    }
    if (!isThenable(outcome)) {
      this.#events.finished(delivery, undefined, elapsed())
      return
    }
    this.running.set(delivery, startedAt ?? performance.now())
    const settle = (error?: Error): void => {
      // Given up while it ran (abortRunning): what it did is no longer of interest.
      if (!this.running.delete(delivery)) return
      this.#events.finished(delivery, error, elapsed())
      this.pump()
    }
    outcome.then(
      () => settle(),
      (error: unknown) => settle(toError(error)),
    )
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
