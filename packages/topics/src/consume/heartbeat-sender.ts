import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Backoff, backoffMs } from '../backoff.ts'
import { toError } from '../errors/failure.ts'
import { HeartbeatError, NamespaceGoneError, SubscriptionGoneError, TooManyGroupsError } from '../errors.ts'
import type { Instrumentation } from '../observe/instrumentation.ts'
import { presentSecond } from '../observe/metrics/meter.ts'
import type { GroupActivity, Heartbeat, HeartbeatResult } from '../stores/heartbeats.ts'
import type { Store } from '../stores/store.ts'
import type { SubscriptionRecord } from '../stores/subscription-record.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { withTimeout } from '../with-timeout.ts'
import type { Vitals } from './vitals.ts'

/** After this many failures in a row others may declare the group dead: it claims nothing until one succeeds. */
const TOLERATED_FAILURES = 10
/** The maximum is short, because a group that may not claim is waiting for it. */
const RETRY: Backoff = { initialMs: 1_000, maxMs: 5_000, factor: 2 }
/**
 * A heartbeat due within this part of its interval is sent with one that is due now: half, so that any two with the
 * same interval meet.
 */
const TOGETHER = 0.5
const LONGEST_TIMER_MS = 0x7fff_ffff
/** How long a stopping group waits for its last counts to be stored. */
const LAST_MS = 5_000

/** A running group or reader, as seen by its heartbeats. */
export type Beating = {
  readonly topic: TopicRecord
  readonly subscription: SubscriptionRecord
  /** It was dead and is active again: there may be something to claim. */
  resurrected(): void
  /** Its subscription was removed or cancelled: it has to stop. */
  ended(reason: Error): void
}

export type BeatCounts = { readonly processed?: number; readonly failed?: number; readonly filtered?: number }

/** The heartbeats of one subscription; several readers and a group of this process may share it. */
type Pulse = {
  readonly members: Set<Beating>
  readonly where: { readonly topic: string; readonly group: string }
  readonly subscriptionId: number
  readonly subscriptionUid: number
  readonly isQueue: boolean
  intervalMs: number
  timeoutMs: number
  dueAt: number
  failures: number
  /** Since when it may not claim, on the monotonic clock. */
  heldAt: number | undefined
  /** Whether the database has rows of its consumers. */
  hasReported: boolean
  processed: number
  failed: number
  filtered: number
}

/**
 * The heartbeats of all groups and readers of one Tidemark: those that are due, or nearly, are sent in one statement,
 * together with the counts since the last one. A queue's only group never dies; its heartbeats only deliver the counts.
 */
export class HeartbeatSender {
  /** Identifies this Tidemark among those that have the namespace open. */
  readonly instance = `${hostname()}/${process.pid}/${randomBytes(3).toString('hex')}`
  readonly #store: Store
  readonly #instrumentation: Instrumentation
  readonly #vitals: Vitals
  readonly #pulses = new Map<number, Pulse>()
  #timer: NodeJS.Timeout | undefined
  #beating: Promise<void> | undefined

  constructor(store: Store, instrumentation: Instrumentation, vitals: Vitals) {
    this.#store = store
    this.#vitals = vitals
    this.#instrumentation = instrumentation
  }

  join(member: Beating): void {
    const { topic, subscription } = member
    const { intervalMs, timeoutMs } = subscription.heartbeat
    let pulse = this.#pulses.get(subscription.id)
    // Its id was reused, as after a restore: members with the old subscription have to stop.
    if (pulse !== undefined && pulse.subscriptionUid !== subscription.uid) {
      this.#end(pulse, new SubscriptionGoneError(pulse.where.topic, pulse.where.group))
      pulse = undefined
    }
    if (pulse === undefined) {
      pulse = {
        members: new Set(),
        where: { topic: topic.name, group: subscription.group },
        subscriptionId: subscription.id,
        subscriptionUid: subscription.uid,
        isQueue: topic.config.semantics === 'queue',
        intervalMs,
        timeoutMs,
        dueAt: Number.POSITIVE_INFINITY,
        failures: 0,
        heldAt: undefined,
        hasReported: false,
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

  /** The last member to leave a subscription waits until its counts are stored, but not for long. */
  async leave(member: Beating, withinMs = LAST_MS): Promise<void> {
    const pulse = this.#pulses.get(member.subscription.id)
    if (pulse === undefined || !pulse.members.delete(member) || pulse.members.size > 0) return
    await withTimeout(this.#flush(pulse), Math.min(withinMs, LAST_MS))
    if (pulse.members.size === 0) this.#pulses.delete(pulse.subscriptionId)
    this.#schedule()
  }

  count(subscriptionId: number, { processed = 0, failed = 0, filtered = 0 }: BeatCounts): void {
    const pulse = this.#pulses.get(subscriptionId)
    if (pulse === undefined) return
    pulse.processed += processed
    pulse.failed += failed
    pulse.filtered += filtered
  }

  /** The group was found dead: a heartbeat resurrects it. */
  hurry(subscriptionId: number): void {
    const pulse = this.#pulses.get(subscriptionId)
    // A group whose heartbeats fail waits for its next attempt.
    if (pulse === undefined || pulse.failures > 0) return
    pulse.dueAt = 0
    this.#schedule()
  }

  /** Whether it may not claim because its heartbeats fail. */
  isHeld(subscriptionId: number): boolean {
    return this.#pulses.get(subscriptionId)?.heldAt !== undefined
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#pulses.clear()
  }

  /** The namespace is gone: all running members are told why, and stop. */
  end(reason: Error): void {
    for (const pulse of [...this.#pulses.values()]) this.#end(pulse, reason)
    clearTimeout(this.#timer)
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
    if (pulse.processed + pulse.failed + pulse.filtered === 0 && !pulse.hasReported) return
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
    const beats = due.map(pulse => ({ ...takeCounts(pulse), activity: this.#activityOf(pulse) }))
    let results: HeartbeatResult[]
    try {
      results = await this.#store.heartbeats.send(beats)
    } catch (error) {
      // All of them were told to stop.
      if (error instanceof NamespaceGoneError) return
      for (const [index, pulse] of due.entries()) this.#failed(pulse, beats[index], error)
      return
    }
    this.#instrumentation.metrics.heartbeat.record(performance.now() - now)
    // One time and one jitter for all: heartbeats that drift apart could no longer share a statement.
    const beatAt = performance.now()
    const jitter = Math.random()
    for (const [index, pulse] of due.entries()) {
      pulse.failures = 0
      if (pulse.heldAt !== undefined) this.#release(pulse, pulse.heldAt)
      // According to what was sent: it may include members that have left since, which must be withdrawn.
      pulse.hasReported = (beats[index]?.activity.group ?? null) !== null
      pulse.dueAt = beatAt + jittered(pulse.intervalMs, jitter)
      this.#instrumentation.metrics.add('heartbeats', 1, pulse.where.topic, pulse.where.group)
      const result = results[index]
      if (result !== undefined) this.#answer(pulse, result)
    }
  }

  /** Read from existing counters, so that it adds no cost per message. */
  #activityOf({ where: { topic, group }, members }: Pulse): GroupActivity {
    const { instance } = this
    const scope = this.#instrumentation.metrics.group(topic, group)
    if (members.size === 0 || scope === undefined) return { instance, group: null, consumers: [] }
    return {
      instance,
      group: {
        claims: scope.lastMinute('claims', presentSecond()),
        claimConflicts: scope.claimConflicts().lastMinute,
        handler: scope.handler.sparse(),
      },
      consumers: [...scope.consumers].map(([consumer, meter]) => ({
        consumer,
        processed: meter.processed,
        failed: meter.failed,
        handler: meter.handler.sparse(),
        ageMs: meter.ageMs,
        idleMs: meter.idleMs,
      })),
    }
  }

  #answer(pulse: Pulse, { status, resurrected }: HeartbeatResult): void {
    // Removed by another process: its figures are removed too.
    if (status === 'GONE') this.#instrumentation.metrics.forgetGroup(pulse.where.topic, pulse.where.group)
    if (status === 'GONE' || status === 'CANCELLED') {
      this.#end(pulse, new SubscriptionGoneError(pulse.where.topic, pulse.where.group))
    } else if (resurrected !== null) {
      this.#instrumentation.resurrected(pulse.where, resurrected)
      for (const member of pulse.members) member.resurrected()
    } else if (status === 'DEAD') {
      // Its claims find it dead too, and need not hurry the next attempt.
      pulse.failures = 1
      const error = new TooManyGroupsError(pulse.where.topic, 0)
      this.#instrumentation.emit('error', { ...pulse.where, action: 'resurrect', error })
    }
  }

  #failed(pulse: Pulse, beat: Heartbeat | undefined, cause: unknown): void {
    pulse.failures++
    this.count(pulse.subscriptionId, beat ?? {})
    const error = toError(cause)
    this.#instrumentation.metrics.add('heartbeatFailures', 1, pulse.where.topic, pulse.where.group)
    this.#instrumentation.emit('error', { ...pulse.where, action: 'heartbeat', error })
    if (pulse.failures >= TOLERATED_FAILURES && !pulse.isQueue) this.#hold(pulse, error)
    // Well within the timeout, so that a short outage of the database costs no miss.
    const retryMs = backoffMs(RETRY, pulse.failures)
    pulse.dueAt = performance.now() + jittered(Math.min(retryMs, pulse.timeoutMs / 5, pulse.intervalMs))
  }

  /** It finishes what it holds; taking more would be work that nobody sees. */
  #hold(pulse: Pulse, cause: Error): void {
    const { where, failures } = pulse
    const error = new HeartbeatError(where.topic, where.group, failures, cause)
    this.#vitals.held(pulse.subscriptionId, error)
    if (pulse.heldAt !== undefined) return
    pulse.heldAt = performance.now()
    this.#instrumentation.emit('group-suspended', { ...where, failures, error })
  }

  /** Its claimers check again by themselves. */
  #release(pulse: Pulse, heldAt: number): void {
    pulse.heldAt = undefined
    this.#instrumentation.emit('group-recovered', { ...pulse.where, ms: performance.now() - heldAt })
  }

  #end({ members, subscriptionId }: Pulse, reason: Error): void {
    this.#pulses.delete(subscriptionId)
    for (const member of members) member.ended(reason)
  }
}

/** Takes the counts for a heartbeat; they are put back if it fails. */
function takeCounts(pulse: Pulse): Heartbeat {
  const { subscriptionId, subscriptionUid, processed, failed, filtered } = pulse
  pulse.processed = 0
  pulse.failed = 0
  pulse.filtered = 0
  return { subscriptionId, subscriptionUid, processed, failed, filtered }
}

/** From 80 to 100 %: never later than configured, and processes that started together drift apart. */
const jittered = (ms: number, random = Math.random()): number => ms * (0.8 + 0.2 * random)
