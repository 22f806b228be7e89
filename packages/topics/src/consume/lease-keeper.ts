import type { Claimer } from './claimer.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { Engine } from './engine.ts'
import type { HeldLease } from './held-lease.ts'

type LeaseHolder = Pick<Dispatcher<unknown>, 'leases' | 'leasesRunningFor' | 'releaseQueued'>

/** Looks at a group's leases several times within their term. */
const LOOKS_PER_LEASE = 6
const SHORTEST_LOOK_MS = 20

/**
 * Watches over leases that are long in hand. With autoExtend, one whose handler runs is extended, up to the cap.
 * Otherwise, past half its term, what is still queued of it goes back uncounted: it would only run out while it waits.
 */
export class LeaseKeeper {
  readonly #engine: Engine
  readonly #dispatcher: LeaseHolder
  readonly #claimer: Claimer
  readonly #autoExtendMs: number | undefined
  readonly #timer: NodeJS.Timeout | undefined

  constructor(engine: Engine, dispatcher: LeaseHolder, claimer: Claimer, autoExtendMs: number | undefined) {
    this.#engine = engine
    this.#dispatcher = dispatcher
    this.#claimer = claimer
    this.#autoExtendMs = autoExtendMs
    const { leaseMs } = claimer.topic.config
    if (leaseMs === 0) return
    const everyMs = Math.min(0x7fff_ffff, Math.max(SHORTEST_LOOK_MS, leaseMs / LOOKS_PER_LEASE))
    this.#timer = setInterval(() => this.#look(), everyMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const { leaseMs } = this.#claimer.topic.config
    const running = this.#dispatcher.leasesRunningFor(this.#autoExtendMs ?? 0)
    for (const lease of this.#dispatcher.leases) {
      if (lease.deadline - performance.now() > leaseMs / 2) continue
      if (this.#autoExtendMs !== undefined && running.has(lease)) this.#extend(lease, leaseMs)
      else this.#dispatcher.releaseQueued(lease)
    }
  }

  #extend(lease: HeldLease, leaseMs: number): void {
    const started = performance.now()
    this.#engine.store.extend(lease.lease.token, leaseMs).then(
      live => (live ? lease.extendTo(started + leaseMs) : lease.lose()),
      // The next look tries again; if none succeeds, the lease runs out as it should.
      error => this.#engine.instrumentation.emit('error', { topic: this.#claimer.topic.name, action: 'extend', error }),
    )
  }
}
