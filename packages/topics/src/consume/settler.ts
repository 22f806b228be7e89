import { setTimeout as delay } from 'node:timers/promises'
import { DatabaseLockedError, DatabaseUnreachableError } from '../errors.ts'
import type { Heartbeats } from '../heartbeats.ts'
import type { Instrumentation } from '../instrumentation.ts'
import { messageIdOf } from '../message-id.ts'
import type { SettleResult, Store } from '../stores/store.ts'
import type { WakeHub } from '../wake-hub.ts'
import type { HeldLease } from './held-lease.ts'

/** Acks that nobody waits for may wait this long for others, so that a fast group settles several pages at once. */
const LINGER_MS = 4
const FIRST_RETRY_MS = 50
const LONGEST_RETRY_MS = 2_000
/** How long a caller's `ack()` waits for a database that is away; groups wait as long as it takes. */
const CALLER_PATIENCE_MS = 30_000

/**
 * Brings acks and nacks to the database. One transaction is under way at a time and takes along whatever all groups of
 * the process have settled meanwhile, so the cost is per round trip, not per message.
 */
export class Settler {
  readonly #store: Store
  readonly #instrumentation: Instrumentation
  readonly #wakeHub: WakeHub
  readonly #heartbeats: Heartbeats
  readonly #dirty = new Set<HeldLease>()
  #running: Promise<void> | undefined
  #hurry: (() => void) | undefined
  #draining = 0
  #failingSince: number | undefined
  #stopped = new AbortController()

  constructor(store: Store, instrumentation: Instrumentation, wakeHub: WakeHub, heartbeats: Heartbeats) {
    this.#store = store
    this.#instrumentation = instrumentation
    this.#wakeHub = wakeHub
    this.#heartbeats = heartbeats
  }

  /** The lease has something to settle. */
  touch(lease: HeldLease): void {
    if (lease.isAwaited) this.#hurry?.()
    if (lease.dirty) return
    lease.dirty = true
    this.#dirty.add(lease)
    this.#running ??= this.#run()
  }

  /** Resolves when all that was settled before is stored. */
  async drain(): Promise<void> {
    this.#draining++
    this.#hurry?.()
    while (this.#running !== undefined) await this.#running
    this.#draining--
  }

  /** Gives up on what the database doesn't take. */
  stop(): void {
    this.#stopped.abort()
  }

  async #run(): Promise<void> {
    await this.#linger()
    for (let retryMs = FIRST_RETRY_MS; this.#dirty.size > 0 && !this.#stopped.signal.aborted; ) {
      if (await this.#flush()) {
        retryMs = FIRST_RETRY_MS
        if (this.#dirty.size > 0) await this.#linger()
        continue
      }
      await delay(retryMs * (0.5 + Math.random()), undefined, { signal: this.#stopped.signal }).catch(() => undefined)
      retryMs = Math.min(LONGEST_RETRY_MS, retryMs * 2)
    }
    this.#running = undefined
  }

  /** Cut short by whoever waits for a settlement. */
  async #linger(): Promise<void> {
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, LINGER_MS)
      this.#hurry = () => {
        clearTimeout(timer)
        setImmediate(resolve)
      }
      if (this.#draining > 0 || [...this.#dirty].some(lease => lease.isAwaited)) this.#hurry()
    })
    this.#hurry = undefined
  }

  async #flush(): Promise<boolean> {
    const leases = [...this.#dirty]
    const settlements = leases.map(lease => lease.take())
    for (const lease of leases) lease.dirty = false
    this.#dirty.clear()
    const started = performance.now()
    let results: SettleResult[]
    try {
      results = await this.#store.settle(settlements)
    } catch (error) {
      this.#putBack(leases, settlements, error)
      return false
    }
    this.#failingSince = undefined
    this.#instrumentation.metrics.settle.record(performance.now() - started)
    for (const [index, lease] of leases.entries()) {
      const settlement = settlements[index]
      const result = results[index]
      if (settlement && result) this.#report(lease, settlement, result)
    }
    return true
  }

  #putBack(leases: HeldLease[], settlements: ReturnType<HeldLease['take']>[], error: unknown): void {
    this.#failingSince ??= performance.now()
    const passing = error instanceof DatabaseUnreachableError || error instanceof DatabaseLockedError
    const refuse = !passing || performance.now() - this.#failingSince > CALLER_PATIENCE_MS
    for (const [index, lease] of leases.entries()) {
      const settlement = settlements[index]
      if (settlement) lease.putBack(settlement)
      if (refuse) lease.refuse(error)
      lease.dirty = true
      this.#dirty.add(lease)
    }
    const topic = leases[0]?.topic.name ?? ''
    this.#instrumentation.emit('error', { topic, action: 'settle', error: error as Error })
  }

  #report(lease: HeldLease, settlement: ReturnType<HeldLease['take']>, result: SettleResult): void {
    const { acks, nacks, releases } = settlement
    const where = { topic: lease.topic.name, group: lease.subscription.group }
    const stale = new Set(result.stale)
    const accepted = (slots: readonly number[]): number =>
      stale.size === 0 ? slots.length : slots.filter(slot => !stale.has(slot)).length
    const acked = acks === 'all' ? lease.lease.size - stale.size : accepted(acks)
    if (acked > 0) this.#instrumentation.emit('acked', { ...where, count: acked })
    const failed = accepted(nacks.map(({ slot }) => slot))
    this.#heartbeats.count(lease.subscription.id, { processed: acked, failed })
    const released = accepted(releases)
    if (released > 0) this.#instrumentation.emit('released', { ...where, count: released })
    for (const { slot, cause, attempt, delayMs } of nacks) {
      if (stale.has(slot)) continue
      const dead = result.deadLettered.includes(slot)
      const message = lease.messageIn(slot)
      const messageId = message?.messageId ?? messageIdOf(lease.topic.uid, message?.id ?? 0)
      this.#instrumentation.emit('nacked', {
        ...where,
        messageId,
        attempt,
        error: cause,
        retryInMs: dead ? null : delayMs,
      })
    }
    if (result.deadLettered.length > 0) {
      this.#instrumentation.emit('dead-lettered', { ...where, count: result.deadLettered.length })
    }
    for (const slot of stale) {
      const { messageId, version } = lease.staleError(slot)
      this.#instrumentation.emit('stale', { ...where, messageId, version })
    }
    lease.answer(settlement, result)
    // Others of this process may take what was given back; other processes are told by the store.
    if (released > 0 || nacks.length > 0) this.#wakeHub.wake(lease.topic.id)
  }
}
