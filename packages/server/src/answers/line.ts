import { setImmediate as nextTurn } from 'node:timers/promises'

/** Runs a few at a time; the others wait in order. */
export class Line {
  readonly #most: number
  readonly #waiting: (() => void)[] = []
  #inside = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Yields to the event loop in between. */
  async pass<T>(make: () => T | Promise<T>): Promise<T> {
    if (this.#inside === this.#most) await new Promise<void>(resolve => this.#waiting.push(resolve))
    else this.#inside++
    try {
      await nextTurn()
      return await make()
    } finally {
      // The next in line gets the slot; nobody can come in between.
      const next = this.#waiting.shift()
      if (next === undefined) this.#inside--
      else next()
    }
  }
}
