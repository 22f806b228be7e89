import { TooManyError } from './errors.ts'

/** Limits the number of concurrent uses. */
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

  /** The returned function releases the slot; repeating it is harmless. */
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
