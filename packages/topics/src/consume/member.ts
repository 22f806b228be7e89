import { type Failure, isThenable, toFailure } from '../errors/failure.ts'
import { type ConsumerMeter, QUICK_MS } from '../observe/metrics/consumer-meter.ts'
import type { Delivery, HandlerContext, LeasedDelivery } from './delivery.ts'

/** Handles a message. Returning acknowledges it; throwing rejects it. */
export type Handler<T> = (message: Delivery<T>, context: HandlerContext) => unknown
/** Returns whether a message is wanted. */
export type Filter<T> = (message: Delivery<T>) => boolean

/** Callbacks of a member to its group. */
export type MemberEvents<T> = {
  /** `ms`: duration of its handler, if it was timed. */
  finished(member: Member<T>, delivery: LeasedDelivery<T>, failure: Failure | undefined, ms: number | undefined): void
  /** Its lease expired while it was queued: it is not started. */
  expired(delivery: LeasedDelivery<T>): void
}

/**
 * Reading the clock costs a tenth of a delivery. So among synchronous handlers, if this many together take less than
 * QUICK_MS, only one in this many is timed. A slower one among them shows at the next reading.
 */
const QUICK_ONES = 16
/** For leases shorter than this, the clock is read for every message. */
const SOON_MS = 10_000
/** From this many on, messages that were taken from a queue that never runs empty are dropped from it. */
const MANY_TAKEN = 1_024

/** Kept per worker and not per message, because a delivery is created for every message and should be small. */
export type Worker<T> = {
  /** The message whose handler it waits for; undefined while it waits for none. */
  delivery: LeasedDelivery<T> | undefined
  /** When that handler started. */
  startedAt: number
  /** Given up: it ends with that handler. */
  isAbandoned: boolean
}

/**
 * One consumer of a group: a queue, and as many workers as its concurrency. A worker takes from the queue until it is
 * empty; awaiting the handler in a loop costs less per message than callbacks.
 */
export class Member<T> {
  readonly id: string
  readonly filter: Filter<T> | undefined
  readonly concurrency: number
  /** Counts its work while its group runs. */
  meter: ConsumerMeter | undefined
  readonly #handler: Handler<T>
  readonly #events: MemberEvents<T>
  #queue: LeasedDelivery<T>[] = []
  #head = 0
  readonly #workers = new Set<Worker<T>>()
  /** The last reading of the clock, and how many messages may start before the next. */
  #now = 0
  #unlooked = 0
  /** Whether the clock was read for the last message taken. */
  #isTimed = false
  #isTurnWatched = false
  /** Turns of the event loop that were watched. */
  #turns = 0

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
    while (this.#workers.size < this.concurrency && this.#head < this.#queue.length) void this.#work()
  }

  /** Removes queued messages that `which` selects. */
  takeQueued(which: (delivery: LeasedDelivery<T>) => boolean = () => true): LeasedDelivery<T>[] {
    const waiting = this.#queue.slice(this.#head)
    this.#queue = waiting.filter(delivery => !which(delivery))
    this.#head = 0
    return waiting.filter(which)
  }

  /** Running handlers, and the workers that wait for them. */
  get running(): readonly { readonly delivery: LeasedDelivery<T>; readonly worker: Worker<T> }[] {
    return [...this.#workers].flatMap(worker => (worker.delivery ? [{ delivery: worker.delivery, worker }] : []))
  }

  /** Gives up on a running handler: its worker ends with it, and another takes its place. */
  abandon(worker: Worker<T>): void {
    worker.isAbandoned = true
    this.#workers.delete(worker)
  }

  /** Never rejects: an error of the handler is a failed attempt of the message. */
  async #work(): Promise<void> {
    const worker: Worker<T> = { delivery: undefined, startedAt: 0, isAbandoned: false }
    this.#workers.add(worker)
    this.#unlooked = 0
    for (let delivery = this.#next(); delivery !== undefined; delivery = this.#next()) {
      const isTimed = this.#isTimed
      const startedAt = this.#now
      const turn = this.#turns
      let failure: Failure | undefined
      try {
        const outcome = this.#handler(delivery, delivery)
        if (isThenable(outcome)) {
          worker.delivery = delivery
          worker.startedAt = startedAt
          await outcome
        }
      } catch (thrown) {
        failure = toFailure(thrown)
      }
      if (worker.isAbandoned) return
      worker.delivery = undefined
      const hasWaited = this.#turns !== turn
      this.#events.finished(this, delivery, failure, isTimed || hasWaited ? this.#msSince(startedAt) : undefined)
    }
    this.#workers.delete(worker)
  }

  #msSince(startedAt: number): number {
    this.#now = performance.now()
    return this.#now - startedAt
  }

  /** The next delivery whose lease is still valid. */
  #next(): LeasedDelivery<T> | undefined {
    for (;;) {
      const delivery = this.#queue[this.#head]
      if (delivery === undefined) break
      this.#head++
      // Only when they are half of the queue: otherwise a long queue would be copied too often.
      if (this.#head >= MANY_TAKEN && this.#head * 2 >= this.#queue.length) this.#dropTaken()
      this.#isTimed = this.#unlooked === 0 || delivery.held.deadline - this.#now < SOON_MS
      if (this.#isTimed) this.#look()
      else this.#unlooked--
      if (delivery.held.isExpiredAt(this.#now)) {
        this.#events.expired(delivery)
        continue
      }
      return delivery
    }
    this.#queue = []
    this.#head = 0
    if (this.#isTurnWatched) this.meter?.countUntimed(this.#msSince(this.#now))
    return undefined
  }

  #dropTaken(): void {
    this.#queue = this.#queue.slice(this.#head)
    this.#head = 0
  }

  #look(): void {
    const ms = this.#msSince(this.#now)
    if (ms >= QUICK_MS) {
      // If the event loop has turned meanwhile, they waited for something else, or are timed themselves.
      if (this.#isTurnWatched) this.meter?.countUntimed(ms)
      return
    }
    this.#unlooked = QUICK_ONES - 1
    if (this.#isTurnWatched) return
    // An asynchronous handler outlasts this turn of the event loop, by an unknown time.
    this.#isTurnWatched = true
    setImmediate(() => {
      this.#isTurnWatched = false
      this.#turns++
      this.#unlooked = 0
    })
  }
}
