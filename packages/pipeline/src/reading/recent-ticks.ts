/**
 * Ticks that were read lately, at most so many bytes of them; the one used longest ago goes first. Who looks at a tick looks
 * at several regions of it, and at its neighbours again. An indexed tick never changes, so it is never too old.
 */
export class RecentTicks {
  readonly #ticks = new Map<number, Uint8Array>()
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get(tick: number): Uint8Array | undefined {
    const bytes = this.#ticks.get(tick)
    if (bytes === undefined) return undefined
    // A Map keeps the order of insertion.
    this.#ticks.delete(tick)
    this.#ticks.set(tick, bytes)
    return bytes
  }

  set(tick: number, bytes: Uint8Array): void {
    if (bytes.length > this.#maxBytes || this.#ticks.has(tick)) return
    this.#ticks.set(tick, bytes)
    this.#bytes += bytes.length
    for (const [oldest, { length }] of this.#ticks) {
      if (this.#bytes <= this.#maxBytes) return
      this.#ticks.delete(oldest)
      this.#bytes -= length
    }
  }
}
