const WINDOW_MS = 60_000

type Sample = { readonly at: number; readonly bytes: number }

/** Growth over the last minute. */
export class Growth {
  #samples: Sample[] = []

  add(bytes: number, at = performance.now()): void {
    this.#samples.push({ at, bytes })
    // One measurement older than the window is kept, so that the window is covered.
    const inWindow = this.#samples.findIndex(sample => sample.at >= at - WINDOW_MS)
    if (inWindow > 1) this.#samples = this.#samples.slice(inWindow - 1)
  }

  /** 0 if it shrinks. */
  get perSecond(): number {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (first === undefined || last === undefined || last.at - first.at < 500) return 0
    return Math.max(0, ((last.bytes - first.bytes) * 1_000) / (last.at - first.at))
  }
}
