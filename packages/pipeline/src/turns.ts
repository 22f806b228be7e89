import { setImmediate as nextTurn } from 'node:timers/promises'

/** Others on this thread have waited for long enough by then. */
const TURN_MS = 5

/** Lets long computations yield to the event loop now and then. */
export class Turns {
  #since = performance.now()

  /** Await it between two steps. It usually costs one look at the clock. */
  async pass(): Promise<void> {
    if (performance.now() - this.#since < TURN_MS) return
    await nextTurn()
    this.#since = performance.now()
  }
}
