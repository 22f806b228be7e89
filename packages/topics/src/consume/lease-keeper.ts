import { toError } from '../errors/failure.ts'
import type { Runtime } from '../runtime.ts'
import type { Claimer } from './claimer.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { HeldLease } from './held-lease.ts'

type LeaseHolder = Pick<Dispatcher<unknown>, 'leases' | 'leasesRunningFor' | 'giveUpWaiting'>

/** Looks at a group's leases several times within their term. */
const LOOKS_PER_LEASE = 6
const SHORTEST_LOOK_MS = 20
const LONGEST_TIMER_MS = 0x7fff_ffff

/**
 * Watches over leases that are long in hand. With autoExtend, one whose handler runs is extended, up to the cap.
 * Otherwise, past half its term, what is still queued of it goes back uncounted: it would only run out while it waits.
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

  /** To be told of every lease, so that there is a timer only while there is one to watch. */
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
      // The next look tries again; if none succeeds, the lease runs out as it should.
      error =>
        this.#runtime.instrumentation.emit('error', {
          topic: this.#claimer.topic.name,
          action: 'extend',
          error: toError(error),
        }),
    )
  }
}
