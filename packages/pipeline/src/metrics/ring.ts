export type RingOptions = {
  readonly slots: number
  readonly slotMs: number
  /** Monotonic, in milliseconds. */
  readonly clock?: (() => number) | undefined
}

/** Which slot of a ring stands for now. Whoever keeps values in the slots empties those that time has passed. */
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

  /** At most as many calls as there are slots, however long nobody asked. */
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
