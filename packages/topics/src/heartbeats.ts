import { DatabaseError, HeartbeatError, SubscriptionGoneError } from './errors.ts'
import type { Instrumentation } from './instrumentation.ts'
import type { Heartbeat, HeartbeatResult } from './stores/fan-out-store.ts'
import type { Store, SubscriptionRecord, TopicRecord } from './stores/store.ts'
import { withTimeout } from './with-timeout.ts'

const MOST_FAILURES = 10
const FIRST_RETRY_MS = 1_000
/** A heartbeat due within this part of its interval goes along with one due now: half, so that any two of a pace meet. */
const TOGETHER = 0.5
const LONGEST_TIMER_MS = 0x7fff_ffff
/** How long a group that stops waits at most for its last counts to be stored. */
const LAST_MS = 5_000

/** A group or reader at work, as its heartbeats see it. */
export type Beating = {
  readonly topic: TopicRecord
  readonly subscription: SubscriptionRecord
  /** It was dead and lives again: there may be something to claim. */
  resurrected(): void
  /** Its subscription was removed or cancelled, or its heartbeats failed too often: it is to stop. */
  ended(reason: Error): void
}

export type Counts = { readonly processed?: number; readonly failed?: number; readonly filtered?: number }

/** One subscription's heartbeats; several readers and a group of this process may share it. */
type Pulse = {
  readonly members: Set<Beating>
  readonly where: { readonly topic: string; readonly group: string }
  readonly subscriptionId: number
  readonly isQueue: boolean
  intervalMs: number
  timeoutMs: number
  dueAt: number
  failures: number
  processed: number
  failed: number
  filtered: number
}

/**
 * The heartbeats of all groups and readers of one Tidemark: whatever is due, or nearly, goes in one statement, which
 * takes along what they have counted meanwhile. A queue's only group never dies; its heartbeats bring the counts alone.
 */
export class Heartbeats {
  readonly #store: Store
  readonly #instrumentation: Instrumentation
  readonly #pulses = new Map<number, Pulse>()
  #timer: NodeJS.Timeout | undefined
  #beating: Promise<void> | undefined

  constructor(store: Store, instrumentation: Instrumentation) {
    this.#store = store
    this.#instrumentation = instrumentation
  }

  join(member: Beating): void {
    const { topic, subscription } = member
    const { intervalMs, timeoutMs } = subscription.heartbeat
    let pulse = this.#pulses.get(subscription.id)
    if (pulse === undefined) {
      pulse = {
        members: new Set(),
        where: { topic: topic.name, group: subscription.group },
        subscriptionId: subscription.id,
        isQueue: topic.config.semantics === 'queue',
        intervalMs,
        timeoutMs,
        dueAt: Number.POSITIVE_INFINITY,
        failures: 0,
        ...{ processed: 0, failed: 0, filtered: 0 },
      }
      this.#pulses.set(subscription.id, pulse)
    }
    pulse.members.add(member)
    // The latest start has the latest settings.
    pulse.dueAt = Math.min(pulse.dueAt, performance.now() + jittered(intervalMs))
    pulse.intervalMs = intervalMs
    pulse.timeoutMs = timeoutMs
    this.#schedule()
  }

  /** The last one to leave a subscription waits until what it counted is stored, but not for long. */
  async leave(member: Beating, withinMs = LAST_MS): Promise<void> {
    const pulse = this.#pulses.get(member.subscription.id)
    if (pulse === undefined || !pulse.members.delete(member) || pulse.members.size > 0) return
    await withTimeout(this.#flush(pulse), Math.min(withinMs, LAST_MS))
    if (pulse.members.size === 0) this.#pulses.delete(pulse.subscriptionId)
    this.#schedule()
  }

  count(subscriptionId: number, { processed = 0, failed = 0, filtered = 0 }: Counts): void {
    const pulse = this.#pulses.get(subscriptionId)
    if (pulse === undefined) return
    pulse.processed += processed
    pulse.failed += failed
    pulse.filtered += filtered
  }

  /** The group was seen to be dead: a heartbeat brings it back. */
  hurry(subscriptionId: number): void {
    const pulse = this.#pulses.get(subscriptionId)
    // One whose heartbeats fail waits for its next attempt.
    if (pulse === undefined || pulse.failures > 0) return
    pulse.dueAt = 0
    this.#schedule()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#pulses.clear()
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    if (this.#beating !== undefined || this.#pulses.size === 0) return
    const dueAt = Math.min(...[...this.#pulses.values()].map(pulse => pulse.dueAt))
    const inMs = Math.min(LONGEST_TIMER_MS, Math.max(0, dueAt - performance.now()))
    this.#timer = setTimeout(() => void this.#beat(), inMs)
    this.#timer.unref()
  }

  async #flush(pulse: Pulse): Promise<void> {
    while (this.#beating !== undefined) await this.#beating
    if (pulse.processed + pulse.failed + pulse.filtered === 0) return
    pulse.dueAt = 0
    // Groups that stop together leave together.
    await new Promise(resolve => setImmediate(resolve))
    while (this.#beating !== undefined) await this.#beating
    if (pulse.dueAt === 0) await this.#beat()
  }

  async #beat(): Promise<void> {
    clearTimeout(this.#timer)
    this.#beating ??= this.#send().finally(() => {
      this.#beating = undefined
      this.#schedule()
    })
    await this.#beating
  }

  async #send(): Promise<void> {
    const now = performance.now()
    const due = [...this.#pulses.values()].filter(pulse => pulse.dueAt <= now + pulse.intervalMs * TOGETHER)
    if (due.length === 0) return
    const beats = due.map(takeCounts)
    let results: HeartbeatResult[]
    try {
      results = await this.#store.heartbeat(beats)
    } catch (error) {
      for (const [index, pulse] of due.entries()) this.#failed(pulse, beats[index], error)
      return
    }
    this.#instrumentation.metrics.heartbeat.record(performance.now() - now)
    // One jitter for all, or they would drift apart.
    const jitter = Math.random()
    for (const [index, pulse] of due.entries()) {
      pulse.failures = 0
      pulse.dueAt = performance.now() + jittered(pulse.intervalMs, jitter)
      this.#instrumentation.metrics.add('heartbeats', 1, pulse.where.topic, pulse.where.group)
      const result = results[index]
      if (result !== undefined) this.#answer(pulse, result)
    }
  }

  #answer(pulse: Pulse, { status, resurrected }: HeartbeatResult): void {
    if (status === 'GONE' || status === 'CANCELLED') {
      this.#end(pulse, new SubscriptionGoneError(pulse.where.topic, pulse.where.group))
    } else if (resurrected !== null) {
      this.#instrumentation.resurrected(pulse.where, resurrected)
      for (const member of pulse.members) member.resurrected()
    }
  }

  #failed(pulse: Pulse, beat: Heartbeat | undefined, cause: unknown): void {
    pulse.failures++
    this.count(pulse.subscriptionId, beat ?? {})
    const error = cause instanceof Error ? cause : new DatabaseError(String(cause))
    this.#instrumentation.metrics.add('heartbeatFailures', 1, pulse.where.topic, pulse.where.group)
    this.#instrumentation.emit('error', { ...pulse.where, action: 'heartbeat', error })
    if (pulse.failures >= MOST_FAILURES && !pulse.isQueue) {
      this.#end(pulse, new HeartbeatError(pulse.where.topic, pulse.where.group, pulse.failures, error))
    }
    // Well inside the timeout, so that a database that was away for a while costs no miss.
    const retryMs = Math.min(FIRST_RETRY_MS * 2 ** (pulse.failures - 1), pulse.timeoutMs / 5, pulse.intervalMs)
    pulse.dueAt = performance.now() + jittered(retryMs)
  }

  #end({ members, subscriptionId }: Pulse, reason: Error): void {
    this.#pulses.delete(subscriptionId)
    for (const member of members) member.ended(reason)
  }
}

/** What was counted goes along; it is put back where the heartbeat fails. */
function takeCounts(pulse: Pulse): Heartbeat {
  const { subscriptionId, processed, failed, filtered } = pulse
  pulse.processed = 0
  pulse.failed = 0
  pulse.filtered = 0
  return { subscriptionId, processed, failed, filtered }
}

/** From 80 to 100 %: never later than asked for, and processes that started together drift apart. */
const jittered = (ms: number, random = Math.random()): number => ms * (0.8 + 0.2 * random)
