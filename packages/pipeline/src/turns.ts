import { setImmediate as nextTurn } from 'node:timers/promises'

/** How long others on this thread have to wait. */
const TURN_MS = 5

/** Lets long computations yield to the event loop now and then. */
export class Turns {
  #since = performance.now()

  /** Await it between two steps. It usually costs one reading of the clock. */
  async pass(): Promise<void> {
    if (performance.now() - this.#since < TURN_MS) return
    await nextTurn()
    this.#since = performance.now()
  }
}
