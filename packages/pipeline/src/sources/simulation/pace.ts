import { setTimeout as delay } from 'node:timers/promises'

/** Maximum delay that is made up for, after a slow sink or a suspended process. */
const MOST_BEHIND_MS = 250

/** Distributes ticks over time, by the monotonic clock. */
export class Pace {
  #interval: number
  #due = performance.now()
  #woken = new AbortController()

  constructor(perSecond: number) {
    this.#interval = 1_000 / perSecond
  }

  /** From now on. A tick that waits at a slow pace is not waited for at that pace. */
  change(perSecond: number): void {
    this.#interval = 1_000 / perSecond
    this.#due = Math.min(this.#due, performance.now() + this.#interval)
    this.wake()
  }

  /** Ends a wait, which may be of minutes. */
  wake(): void {
    this.#woken.abort()
    this.#woken = new AbortController()
  }

  /** Whether the next tick is due; false: it was woken before. Timers have whole milliseconds; the next ticks compensate. */
  async wait(signal: AbortSignal): Promise<boolean> {
    const left = this.#left()
    if (left < 1) return true
    const { signal: woken } = this.#woken
    try {
      await delay(left, undefined, { signal: AbortSignal.any([signal, woken]) })
    } catch (error) {
      if (signal.aborted) throw error
    }
    return this.#left() < 1
  }

  count(): void {
    this.#due = Math.max(this.#due + this.#interval, performance.now() - MOST_BEHIND_MS)
  }

  restart(): void {
    this.#due = performance.now()
  }

  #left(): number {
    return this.#due - performance.now()
  }
}
