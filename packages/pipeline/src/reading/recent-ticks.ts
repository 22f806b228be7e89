/**
 * Recently read ticks, limited in bytes; the least recently used is removed first. A viewer reads several regions of a
 * tick and returns to its neighbours. An indexed tick never changes, so it never becomes stale.
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
    // A Map keeps insertion order.
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
