/** One after the other: what is handed in runs when everything before it has ended. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {}) // Its own caller is told.
    return turn
  }
}
