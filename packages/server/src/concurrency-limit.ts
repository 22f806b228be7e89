import { TooManyError } from './errors.ts'

/** So many at the same time, and no more. */
export class ConcurrencyLimit {
  readonly #what: string
  readonly #most: number
  readonly #limit: string
  #taken = 0

  constructor(what: string, most: number, limit: string) {
    this.#what = what
    this.#most = most
    this.#limit = limit
  }

  get taken(): number {
    return this.#taken
  }

  /** The returned function gives the place back; again is fine. */
  take(): () => void {
    if (this.#taken >= this.#most) throw new TooManyError(this.#what, this.#most, this.#limit)
    this.#taken++
    let isTaken = true
    return () => {
      if (isTaken) this.#taken--
      isTaken = false
    }
  }
}
