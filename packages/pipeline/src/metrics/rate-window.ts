import type { WindowOptions } from './latency-window.ts'
import { Ring } from './ring.ts'

const SLOTS = 20

/** Counts events within a window, as a rate. Recording and reading take constant time. */
export class RateWindow {
  readonly #sums = new Float64Array(SLOTS)
  readonly #ring: Ring
  readonly #windowMs: number
  readonly #clock: () => number
  readonly #startedAt: number

  constructor({ windowMs = 5_000, clock = () => performance.now() }: WindowOptions = {}) {
    this.#windowMs = windowMs
    this.#clock = clock
    this.#startedAt = clock()
    this.#ring = new Ring({ slots: SLOTS, slotMs: windowMs / SLOTS, clock })
  }

  add(count: number): void {
    this.#advance()
    const { slot } = this.#ring
    this.#sums[slot] = (this.#sums[slot] ?? 0) + count
  }

  /** Over the window, or over the time since the start if that is shorter, but at least one second. */
  perSecond(): number {
    this.#advance()
    const sum = this.#sums.reduce((total, each) => total + each, 0)
    const ms = Math.min(this.#windowMs, Math.max(1_000, this.#clock() - this.#startedAt))
    return (sum * 1_000) / ms
  }

  #advance(): void {
    this.#ring.advance(slot => {
      this.#sums[slot] = 0
    })
  }
}
