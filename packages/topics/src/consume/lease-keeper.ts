import { toError } from '../errors/failure.ts'
import type { Runtime } from '../runtime.ts'
import type { Claimer } from './claimer.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { HeldLease } from './held-lease.ts'

type LeaseHolder = Pick<Dispatcher<unknown>, 'leases' | 'leasesRunningFor' | 'giveUpWaiting'>

/** Checks a group's leases several times within their term. */
const LOOKS_PER_LEASE = 6
const SHORTEST_LOOK_MS = 20
const LONGEST_TIMER_MS = 0x7fff_ffff

/**
 * Watches leases that are held for long. With autoExtend, a lease with a running handler is extended, up to the
 * maximum. Otherwise, past half its term, its queued messages are released: they would only expire while they wait.
 */
export class LeaseKeeper {
  readonly #runtime: Runtime
  readonly #dispatcher: LeaseHolder
  readonly #claimer: Claimer
  readonly #autoExtendMs: number | undefined
  #timer: NodeJS.Timeout | undefined
  #nextLookAt = 0

  constructor(runtime: Runtime, dispatcher: LeaseHolder, claimer: Claimer, autoExtendMs: number | undefined) {
    this.#runtime = runtime
    this.#dispatcher = dispatcher
    this.#claimer = claimer
    this.#autoExtendMs = autoExtendMs
  }

  /** Must be called for every lease, so that there is a timer only while there is one to watch. */
  watch(held: HeldLease): void {
    if (held.deadline === Number.POSITIVE_INFINITY) return
    const inMs = Math.max(SHORTEST_LOOK_MS, held.termMs / LOOKS_PER_LEASE)
    if (this.#timer !== undefined && this.#nextLookAt <= performance.now() + inMs) return
    clearTimeout(this.#timer)
    this.#nextLookAt = performance.now() + inMs
    this.#timer = setTimeout(() => this.#look(), Math.min(LONGEST_TIMER_MS, inMs))
    this.#timer.unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #look(): void {
    this.#timer = undefined
    const running = this.#dispatcher.leasesRunningFor(this.#autoExtendMs ?? 0)
    for (const held of this.#dispatcher.leases) {
      if (held.deadline - performance.now() <= held.termMs / 2) {
        if (this.#autoExtendMs !== undefined && running.has(held)) this.#extend(held)
        else this.#dispatcher.giveUpWaiting(held)
      }
      this.watch(held)
    }
  }

  #extend(held: HeldLease): void {
    const started = performance.now()
    const ms = held.termMs
    this.#runtime.store.leases.extend(held.lease.token, ms).then(
      live => (live ? held.extendTo(started + ms) : held.lose()),
      // The next check tries again; if none succeeds, the lease expires as it should.
      error =>
        this.#runtime.instrumentation.emit('error', {
          topic: this.#claimer.topic.name,
          action: 'extend',
          error: toError(error),
        }),
    )
  }
}
