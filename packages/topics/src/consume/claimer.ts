import { SubscriptionGoneError } from '../errors.ts'
import type { ClaimResult, SubscriptionRecord, SubscriptionStatus, TopicRecord } from '../stores/store.ts'
import type { Waker } from '../wake-hub.ts'
import type { Engine } from './engine.ts'
import { HeldLease, type LeaseOwner } from './held-lease.ts'

/** In a busy stretch, expired leases are looked for this often; whoever finds nothing to do looks each time. */
const SWEEP_WHILE_BUSY_MS = 1_000
/** An idle consumer looks less and less often, down to this many times the sweep. */
const LONGEST_SWEEPS = 4

type NextOptions = {
  readonly limit: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** How long the consumer could do nothing with more; to be woken if that ends sooner. */
  readonly holdOffMs?: () => number
}

/** Claims for one consumer of one group: reads first, then waits for a wake-up, a due time or the sweep. */
export class Claimer implements LeaseOwner {
  readonly consumer: string
  readonly subscription: SubscriptionRecord
  readonly #engine: Engine
  readonly #waker: Waker
  readonly #stopSharing: () => void
  #topic: TopicRecord
  #status: SubscriptionStatus
  #forget: string[] = []
  #sweptAt = 0
  #emptyLooks = 0
  #suspectInHand: HeldLease | undefined

  constructor(engine: Engine, topic: TopicRecord, subscription: SubscriptionRecord, consumer: string) {
    this.#engine = engine
    this.#topic = topic
    this.subscription = subscription
    this.consumer = consumer
    this.#status = subscription.status
    this.#waker = engine.wakeHub.waker(topic.id)
    this.#stopSharing = engine.readers.add(topic.id, subscription.id)
  }

  get topic(): TopicRecord {
    return this.#topic
  }

  get status(): SubscriptionStatus {
    return this.#status
  }

  /** The next lease; null when the time is up or the signal aborts. */
  async next({ limit, timeoutMs, signal, holdOffMs = () => 0 }: NextOptions): Promise<HeldLease | null> {
    const until = performance.now() + timeoutMs
    const wake = (): void => this.#waker.wake()
    signal.addEventListener('abort', wake, { once: true })
    try {
      while (!signal.aborted) {
        const seen = this.#waker.count
        const holdOff = holdOffMs()
        if (holdOff > 0) {
          await this.#waker.wait(seen, holdOff)
          continue
        }
        const sweep = this.#emptyLooks > 0 || performance.now() - this.#sweptAt > SWEEP_WHILE_BUSY_MS
        const { lease, nextDueMs } = await this.#claim(limit, sweep)
        if (lease) {
          this.#emptyLooks = 0
          return lease
        }
        this.#emptyLooks++
        // The first empty look of a busy stretch may not have swept: look once more, properly, before waiting.
        if (!sweep) continue
        const left = until - performance.now()
        if (left <= 0) return null
        await this.#waker.wait(seen, Math.min(left, nextDueMs ?? Number.POSITIVE_INFINITY, this.#sweepMs()))
      }
      return null
    } finally {
      signal.removeEventListener('abort', wake)
    }
  }

  wake(): void {
    this.#waker.wake()
  }

  forget(token: string): void {
    this.#forget.push(token)
    if (this.#suspectInHand?.lease.token !== token) return
    // The next suspect may be claimed now; whoever waits has looked without suspects.
    this.#suspectInHand = undefined
    this.#waker.wake()
  }

  close(): void {
    this.#waker.dispose()
    this.#stopSharing()
  }

  async #claim(limit: number, sweep: boolean): Promise<{ lease: HeldLease | null; nextDueMs: number | null }> {
    const forget = this.#forget
    this.#forget = []
    if (this.#suspectInHand?.expired) this.#suspectInHand = undefined
    const started = performance.now()
    let result: ClaimResult
    try {
      result = await this.#engine.store.claim({
        topic: this.#topic,
        subscription: this.subscription,
        consumer: this.consumer,
        limit,
        suspects: this.#suspectInHand === undefined,
        sweep,
        forget,
        shared: this.#engine.readers.isShared(this.#topic.id),
      })
    } catch (error) {
      this.#forget = [...forget, ...this.#forget]
      throw error
    }
    if (sweep) this.#sweptAt = started
    // A claim that found nothing may not have opened a transaction: what it should forget waits for the next.
    if (result.lease === null) this.#forget = [...forget, ...this.#forget]
    this.#record(result, performance.now() - started)
    if (result.configVersion > this.#topic.configVersion) {
      this.#topic = await this.#engine.topics.upToDate(this.#topic, result.configVersion)
    }
    if (result.status === 'GONE' || result.status === 'CANCELLED') {
      throw new SubscriptionGoneError(this.#topic.name, this.subscription.group)
    }
    this.#status = result.status
    if (result.status === 'DEAD') this.#engine.heartbeats.hurry(this.subscription.id)
    const lease = result.lease && new HeldLease(result.lease, this.#topic, this.subscription, this, started)
    if (lease?.lease.suspect) this.#suspectInHand = lease
    return { lease, nextDueMs: result.nextDueMs }
  }

  #record(result: ClaimResult, ms: number): void {
    const where = { topic: this.#topic.name, group: this.subscription.group }
    const { instrumentation } = this.#engine
    instrumentation.metrics.claim.record(ms)
    instrumentation.metrics.add('claims', 1, where.topic, where.group)
    if (result.conflict) instrumentation.emit('claim-conflict', where)
    if (result.takenOver > 0) instrumentation.emit('taken-over', { ...where, count: result.takenOver })
    if (result.deadLettered > 0) instrumentation.emit('dead-lettered', { ...where, count: result.deadLettered })
    if (result.lease === null) return
    const count = result.lease.messages.length
    instrumentation.emit('received', { ...where, count })
    const retried = result.lease.versions === null ? 0 : count
    if (retried > 0) instrumentation.emit('retried', { ...where, count: retried })
  }

  /** Jittered, so that processes that started together don't look together. */
  #sweepMs(): number {
    const times = Math.min(LONGEST_SWEEPS, 1.5 ** (this.#emptyLooks - 1))
    return this.#engine.sweepMs * times * (0.75 + 0.5 * Math.random())
  }
}
