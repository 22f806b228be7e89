import { UnsentAnswersError } from '../errors.ts'

/** Share of the whole budget below which a claim is not worthwhile; each grant is half of what is left. */
const LEAST_SHARE = 1 / 8

/** Memory promised to an answer before its messages are claimed. */
export class Reservation {
  readonly bytes: number
  readonly #resize: (by: number) => void
  #held: number

  constructor(bytes: number, resize: (by: number) => void) {
    this.bytes = bytes
    this.#held = bytes
    this.#resize = resize
    resize(bytes)
  }

  /** The actual size of the answer, until it is released. */
  keep(bytes: number): void {
    const by = bytes - this.#held
    this.#held = bytes
    this.#resize(by)
  }

  /** Repeating it is harmless. */
  release(): void {
    this.keep(0)
  }
}

/**
 * Bytes of large answers of all clients together: reserved for those being built, and unsent bytes of finished ones.
 */
export class MemoryBudget {
  readonly #most: number
  #held = 0
  #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#most = most
  }

  get most(): number {
    return this.#most
  }

  get left(): number {
    return this.#most - this.#held
  }

  hold(bytes: number): Reservation {
    return new Reservation(bytes, by => this.#resize(by))
  }

  /**
   * Grants the requested bytes, but at most half of what is left, so that something remains for the next. Waits up to
   * `ms` if that is too little; then throws. An aborted signal ends the wait.
   */
  async reserve(bytes: number, ms: number, signal: AbortSignal): Promise<Reservation> {
    const least = Math.min(bytes, Math.floor(this.#most * LEAST_SHARE))
    const until = performance.now() + ms
    for (;;) {
      const granted = Math.min(bytes, Math.floor(this.left / 2))
      if (granted >= least || signal.aborted) return this.hold(Math.max(0, granted))
      const left = until - performance.now()
      if (left <= 0) throw new UnsentAnswersError(this.#most)
      await this.#change(left, signal)
    }
  }

  #resize(by: number): void {
    this.#held += by
    if (by >= 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }

  /** Until something is released, the time is up or the signal aborts. */
  async #change(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => resolve(), { once: true })
    this.#waiting.push(resolve)
    await promise
    clearTimeout(timer)
  }
}
