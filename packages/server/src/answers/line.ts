import { setImmediate as nextTurn } from 'node:timers/promises'

/** A few at a time; the others wait for those that came before. */
export class Line {
  readonly #most: number
  readonly #waiting: (() => void)[] = []
  #inside = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Lets others have a turn of the event loop in between. */
  async pass<T>(make: () => T | Promise<T>): Promise<T> {
    if (this.#inside === this.#most) await new Promise<void>(resolve => this.#waiting.push(resolve))
    else this.#inside++
    try {
      await nextTurn()
      return await make()
    } finally {
      // Whoever is next has the place; nobody can come in between.
      const next = this.#waiting.shift()
      if (next === undefined) this.#inside--
      else next()
    }
  }
}
