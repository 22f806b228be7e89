/**
 * Bytes that may still enter the queues before the next disk measurement. This keeps a fast source from exceeding the
 * disk budget between two measurements; waiting items enter when it grows.
 */
export class Allowance {
  #left = Number.POSITIVE_INFINITY
  readonly #raised = new Set<() => void>()

  get left(): number {
    return this.#left
  }

  set(bytes: number): void {
    const isMore = bytes > this.#left
    this.#left = bytes
    if (isMore) for (const raised of this.#raised) raised()
  }

  /** Returns false if the item must wait. */
  has(bytes: number): boolean {
    return bytes <= this.#left
  }

  take(bytes: number): void {
    this.#left -= bytes
  }

  onRaised(listener: () => void): void {
    this.#raised.add(listener)
  }
}
