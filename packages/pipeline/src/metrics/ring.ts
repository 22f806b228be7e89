export type RingOptions = {
  readonly slots: number
  readonly slotMs: number
  /** Monotonic, in milliseconds. */
  readonly clock?: (() => number) | undefined
}

/** Which slot of a ring is the current one. The user of the ring clears slots whose time has passed. */
export class Ring {
  readonly #slots: number
  readonly #slotMs: number
  readonly #clock: () => number
  #turn: number

  constructor({ slots, slotMs, clock = () => performance.now() }: RingOptions) {
    this.#slots = slots
    this.#slotMs = slotMs
    this.#clock = clock
    this.#turn = this.#now()
  }

  get slot(): number {
    return this.#turn % this.#slots
  }

  /** Calls `empty` at most once per slot, however long ago the last call was. */
  advance(empty: (slot: number) => void): void {
    const now = this.#now()
    const passed = Math.min(this.#slots, now - this.#turn)
    for (let step = 1; step <= passed; step++) empty((this.#turn + step) % this.#slots)
    this.#turn = now
  }

  #now(): number {
    return Math.floor(this.#clock() / this.#slotMs)
  }
}
