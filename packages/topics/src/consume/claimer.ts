import { toError } from '../errors/failure.ts'
import { DatabaseRewoundError, SubscriptionGoneError } from '../errors.ts'
import type { Events } from '../observe/instrumentation.ts'
import { isFault } from '../observe/outages.ts'
import { messageIdIn } from '../payload/message-id.ts'
import type { Runtime } from '../runtime.ts'
import type { ClaimResult, Lease, Suspects, TakeOver } from '../stores/leases.ts'
import type { SubscriptionRecord, SubscriptionStatus } from '../stores/subscription-record.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { HeldLease, type LeaseOwner } from './held-lease.ts'
import type { Holding } from './isolation.ts'
import type { Waker } from './wake-hub.ts'

/** How often a busy consumer checks for expired leases; an idle one checks every time. */
const SWEEP_WHILE_BUSY_MS = 1_000
/** Less than the hour for which the database remembers an ended lease. */
const LEASES_REMEMBERED_MS = 50 * 60_000
/** An idle consumer polls less and less often, down to this multiple of the sweep interval. */
const LONGEST_SWEEPS = 4
/** How often a claimer that is suspended because heartbeats fail checks whether they succeed again. */
const HELD_MS = 1_000

type NextOptions = {
  readonly limit: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** How long the consumer could not use more messages; it is woken if that ends sooner. */
  readonly holdOffMs?: () => number
  /** Maximum payload bytes that the consumer accepts. */
  readonly maxBytes?: number | undefined
  /** Called before each claim; released again if the claim returns nothing. */
  readonly reserve?: (() => Promise<{ release(): void }>) | undefined
}

type ClaimerOptions = {
  /** Duration of its leases; undefined: the topic's. */
  readonly leaseMs?: number | undefined
  /** With a single attempt per message, nothing is claimed while the group holds anything. */
  readonly isCareful?: boolean
  /** Its messages are handled in another process, so what this process holds doesn't matter. */
  readonly isRemote?: boolean
}

/** Claims for one consumer of one group: reads first, then waits for a wake-up, a due time or the sweep. */
export class Claimer implements LeaseOwner {
  readonly consumer: string
  readonly subscription: SubscriptionRecord
  readonly #runtime: Runtime
  readonly #waker: Waker
  readonly #leave: (() => void)[]
  readonly #leaseMs: number | undefined
  readonly #isCareful: boolean
  readonly #isRemote: boolean
  #topic: TopicRecord
  #status: SubscriptionStatus
  #forget: string[] = []
  /** The first claim sweeps, also in a process that has only just begun. */
  #sweptAt = Number.NEGATIVE_INFINITY
  #emptyLooks = 0
  /** How often the cursor had moved at this consumer's last claim. */
  #moves = 0
  #hasUnknownLease = false
  #toldAt = Number.NEGATIVE_INFINITY
  #isAhead = false

  constructor(
    runtime: Runtime,
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    consumer: string,
    { leaseMs, isCareful = false, isRemote = false }: ClaimerOptions = {},
  ) {
    this.#runtime = runtime
    this.#topic = topic
    this.subscription = subscription
    this.consumer = consumer
    this.#leaseMs = leaseMs
    this.#isCareful = isCareful
    this.#isRemote = isRemote
    this.#status = subscription.status
    // A new group has no leases that could have expired.
    if (subscription.created) this.#sweptAt = performance.now()
    this.#waker = runtime.wakeHub.waker(topic.id)
    this.#leave = [runtime.readers.add(topic.id, subscription.id), runtime.vitals.join(topic.name, subscription)]
  }

  get topic(): TopicRecord {
    return this.#topic
  }

  get status(): SubscriptionStatus {
    return this.#status
  }

  get isSingleAttempt(): boolean {
    return this.#isCareful && this.#topic.config.maxAttempts === 1
  }

  /** Duration of its leases; 0: never expire. */
  get leaseMs(): number {
    return this.#leaseMs ?? this.#topic.config.leaseMs
  }

  /** The next lease; null when the time is up or the signal aborts. */
  async next({
    limit,
    timeoutMs,
    signal,
    holdOffMs = () => 0,
    maxBytes,
    reserve,
  }: NextOptions): Promise<HeldLease | null> {
    const until = performance.now() + timeoutMs
    const wake = (): void => this.#waker.wake()
    signal.addEventListener('abort', wake, { once: true })
    try {
      while (!signal.aborted) {
        const seen = this.#waker.count
        if (this.#runtime.heartbeats.isHeld(this.subscription.id)) {
          const left = until - performance.now()
          if (left <= 0) return null
          await this.#waker.wait(seen, Math.min(left, HELD_MS))
          continue
        }
        const holdOff = holdOffMs()
        if (holdOff > 0) {
          await this.#waker.wait(seen, holdOff)
          continue
        }
        const holding = this.#isRemote ? undefined : this.#runtime.isolation.begin(this)
        if (typeof holding === 'number') {
          const left = until - performance.now()
          if (left <= 0) return null
          await this.#waker.wait(seen, Math.min(left, holding))
          continue
        }
        const sweep = this.#emptyLooks > 0 || performance.now() - this.#sweptAt > SWEEP_WHILE_BUSY_MS
        const { held, nextDueMs, isToAskAgain } = await this.#claim({ limit, maxBytes, reserve }, sweep, holding)
        if (held) {
          this.#emptyLooks = 0
          this.#waker.served()
          return held
        }
        this.#emptyLooks++
        // The first empty claim of a busy stretch may not have swept: claim once more with a sweep before waiting.
        if (!sweep || isToAskAgain) continue
        const left = until - performance.now()
        if (left <= 0) return null
        await this.#waker.wait(seen, Math.min(left, nextDueMs ?? Number.POSITIVE_INFINITY, this.#sweepMs()))
      }
      return null
    } finally {
      signal.removeEventListener('abort', wake)
      this.#runtime.isolation.leave(this)
    }
  }

  wake(): void {
    this.#waker.wake()
  }

  forget(token: string): void {
    this.#forget.push(token)
    this.#runtime.isolation.settled(token)
  }

  /** Reported with the next claim, if the group still exists then: removing a group deletes its leases. */
  unknown(held: HeldLease): void {
    const now = performance.now()
    // An expired lease is forgotten after an hour. One that was claimed before the last report was lost with the rest.
    const mayBeForgotten = now >= held.deadline || now - held.claimedAt > LEASES_REMEMBERED_MS
    if (mayBeForgotten || held.claimedAt < this.#toldAt) return
    this.#hasUnknownLease = true
    this.#waker.wake()
  }

  close(): void {
    this.#waker.dispose()
    for (const leave of this.#leave) leave()
  }

  async #claim(
    { limit, maxBytes, reserve }: Pick<NextOptions, 'limit' | 'maxBytes' | 'reserve'>,
    sweep: boolean,
    holding: Holding | undefined,
  ): Promise<{ held: HeldLease | null; nextDueMs: number | null; isToAskAgain: boolean }> {
    let reserved: { release(): void } | undefined
    try {
      reserved = await reserve?.()
      const started = performance.now()
      const result = await this.#ask({ limit, maxBytes }, sweep, holding?.suspects ?? 'alone')
      const held = result.lease && this.#hold(result.lease, started)
      const isToAskAgain = holding ? this.#runtime.isolation.end(this, holding, held, result.waiting) : false
      if (held === null) reserved?.release()
      return { held, nextDueMs: result.nextDueMs, isToAskAgain }
    } catch (error) {
      reserved?.release()
      if (holding) this.#runtime.isolation.cancel(holding)
      throw error
    }
  }

  async #ask(
    { limit, maxBytes }: Pick<NextOptions, 'limit' | 'maxBytes'>,
    sweep: boolean,
    suspects: Suspects,
  ): Promise<ClaimResult> {
    const forget = this.#forget
    this.#forget = []
    const started = performance.now()
    const vital = this.#runtime.vitals.claiming(this.subscription.id)
    let result: ClaimResult
    try {
      result = await this.#runtime.store.leases.claim({
        topic: this.#topic,
        subscription: this.subscription,
        consumer: this.consumer,
        limit,
        maxBytes,
        suspects,
        leaseMs: this.#leaseMs ?? null,
        sweep,
        forget,
        shared: this.#runtime.readers.isShared(this.#topic.id),
      })
    } catch (error) {
      this.#forget = [...forget, ...this.#forget]
      vital.failed(error)
      const where = { topic: this.#topic.name, group: this.subscription.group }
      if (isFault(error))
        this.#runtime.instrumentation.emit('error', { ...where, action: 'claim', error: toError(error) })
      throw error
    }
    const ahead =
      result.status === 'AHEAD'
        ? DatabaseRewoundError.ofCursor(this.#runtime.store.location, this.#topic.name, this.subscription.group)
        : undefined
    if (ahead) vital.failed(ahead)
    else vital.answered()
    if (sweep) this.#sweptAt = started
    // A claim that found nothing may not have opened a transaction: what it should forget waits for the next one.
    if (result.lease === null) this.#forget = [...forget, ...this.#forget]
    this.#record(result, performance.now() - started)
    if (result.configVersion > this.#topic.configVersion) {
      this.#topic = await this.#runtime.topics.upToDate(this.#topic, result.configVersion)
    }
    if (result.status === 'GONE' || result.status === 'CANCELLED') {
      throw new SubscriptionGoneError(this.#topic.name, this.subscription.group)
    }
    this.#compare(result)
    if (ahead) {
      const where = { topic: this.#topic.name, group: this.subscription.group }
      this.#runtime.instrumentation.emit('error', { ...where, action: 'claim', error: ahead })
      throw ahead
    }
    this.#status = result.status as SubscriptionStatus
    if (result.status === 'DEAD') this.#runtime.heartbeats.hurry(this.subscription.id)
    return result
  }

  #hold(lease: Lease, claimedAt: number): HeldLease {
    return new HeldLease(lease, this.#topic, this.subscription, this, { claimedAt, termMs: this.leaseMs })
  }

  /** What this consumer was told before must not be ahead of what it is told now. */
  #compare({ status, moves }: ClaimResult): void {
    const isAhead = status === 'AHEAD'
    const wentBack = moves.before < this.#moves
    const sign = isAhead ? 'cursor' : wentBack ? 'position' : this.#hasUnknownLease ? 'lease' : undefined
    const isNews = sign !== undefined && !(isAhead && this.#isAhead)
    this.#moves = moves.after
    this.#hasUnknownLease = false
    this.#isAhead = isAhead
    if (!isNews) return
    this.#toldAt = performance.now()
    const where = { topic: this.#topic.name, group: this.subscription.group }
    this.#runtime.instrumentation.emit('database-rewound', { ...where, sign })
  }

  #record(result: ClaimResult, ms: number): void {
    const where = { topic: this.#topic.name, group: this.subscription.group }
    const { instrumentation } = this.#runtime
    instrumentation.metrics.claim.record(ms)
    instrumentation.metrics.add('claims', 1, where.topic, where.group)
    if (result.conflict) instrumentation.emit('claim-conflict', where)
    for (const takeOver of result.takeOvers) {
      this.#runtime.isolation.settled(takeOver.token)
      instrumentation.emit('taken-over', { ...where, ...this.#takenOver(takeOver) })
    }
    if (result.deadLettered > 0) instrumentation.emit('dead-lettered', { ...where, count: result.deadLettered })
    if (result.lease === null) return
    const count = result.lease.messages.length
    instrumentation.emit('received', { ...where, count })
    const retried = result.lease.versions === null ? 0 : count
    if (retried > 0) instrumentation.emit('retried', { ...where, count: retried })
  }

  #takenOver({ consumer, count, messages }: TakeOver): Omit<Events['taken-over'], 'topic' | 'group'> {
    return {
      consumer,
      by: this.consumer,
      count,
      messages: messages.map(message => ({
        id: message.id,
        messageId: messageIdIn(this.#topic, message),
        version: message.version,
      })),
    }
  }

  /** Jittered, so that processes that started together don't poll together. */
  #sweepMs(): number {
    const times = Math.min(LONGEST_SWEEPS, 1.5 ** (this.#emptyLooks - 1))
    return this.#runtime.sweepMs * times * (0.75 + 0.5 * Math.random())
  }
}
