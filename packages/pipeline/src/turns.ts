import { setImmediate as nextTurn } from 'node:timers/promises'

/** Others on this thread have waited for long enough by then. */
const TURN_MS = 5

/** For long loops that compute: lets others have their turn now and then. */
export class Turns {
  #since = performance.now()

  /** To be awaited between two steps; as a rule it costs a look at the clock. */
  async pass(): Promise<void> {
    if (performance.now() - this.#since < TURN_MS) return
    await nextTurn()
    this.#since = performance.now()
  }
}
