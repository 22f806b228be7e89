import type { Delivery, HandlerContext, LeasedDelivery } from './delivery.ts'
import { RunningSet } from './running-set.ts'

export type Handler<T> = (message: Delivery<T>, context: HandlerContext) => unknown
export type Filter<T> = (message: Delivery<T>) => boolean

/** What a member tells its group. */
export type MemberEvents<T> = {
  finished(delivery: LeasedDelivery<T>, error: Error | undefined): void
  /** Its lease ran out while it waited: it is not started. */
  expired(delivery: LeasedDelivery<T>): void
}

/** Of handlers that take next to nothing, one in so many is timed: looking at the clock would cost a tenth of a delivery. */
const QUICK_ONES = 16
/** What so many of them take at most. */
const QUICK_MS = 1

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
  /** The time as it was last looked at, and how many may begin before the next look. */
  #now = 0
  #unlooked = 0

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
    this.#unlooked = 0
    for (let delivery = this.#next(); delivery !== undefined; delivery = this.#next()) {
      let error: Error | undefined
      try {
        const outcome = this.#handler(delivery, delivery)
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
      const isTimed = this.#unlooked === 0
      if (isTimed) this.#look()
      else this.#unlooked--
      if (delivery.lease.isExpiredAt(this.#now)) {
        this.#events.expired(delivery)
        continue
      }
      delivery.startedAt = Math.floor(this.#now)
      if (isTimed) delivery.timedFrom = this.#now
      return delivery
    }
    this.#queue = []
    this.#head = 0
    return undefined
  }

  #look(): void {
    const before = this.#now
    this.#now = performance.now()
    if (this.#now - before < QUICK_MS) this.#unlooked = QUICK_ONES - 1
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
