/** Reproducible random choices of a test: TIDEMARK_TEST_SEED sets the seed, and a failure prints it. */
export class SeededRandom {
  readonly seed: number
  #state: number

  constructor(seed = Number(process.env.TIDEMARK_TEST_SEED || Math.floor(Math.random() * 0x7fff_ffff))) {
    this.seed = seed
    this.#state = seed
  }

  /** From 0 up to, but not including, 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }

  /** An integer from 0 up to, but not including, `below`. */
  below(below: number): number {
    return Math.floor(this.next() * below)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.below(from.length)]
    if (picked === undefined) throw new Error('There is nothing to pick from')
    return picked
  }

  /** Runs `body`, and prints the seed if it fails. */
  async named<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body()
    } catch (error) {
      if (error instanceof Error) error.message += `\nRun it again with TIDEMARK_TEST_SEED=${this.seed}`
      throw error
    }
  }
}
