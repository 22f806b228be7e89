type Sample = { readonly at: number; readonly value: number }

const WINDOW_MS = 5_000

/** Growth of a number per second, over the last five seconds. */
export class Rate {
  #samples: Sample[] = []

  /** Growth per second. */
  of(value: number, now = performance.now()): number {
    this.#samples = [...this.#samples.filter(({ at }) => now - at <= WINDOW_MS), { at: now, value }]
    const [first] = this.#samples
    return first === undefined || now === first.at ? 0 : ((value - first.value) * 1_000) / (now - first.at)
  }
}
