/**
 * Bytes that may still enter the queues before the next disk measurement, and items before the next look at the
 * indexers. This keeps a fast source from exceeding the disk budget between two measurements, and from running away
 * from its indexers; waiting items enter when it grows.
 */
export class Allowance {
  #left = Number.POSITIVE_INFINITY
  #items = Number.POSITIVE_INFINITY
  #taken = 0
  readonly #raised = new Set<() => void>()

  get left(): number {
    return this.#left
  }

  set(bytes: number): void {
    const isMore = bytes > this.#left
    this.#left = bytes
    if (isMore) this.#tellRaised()
  }

  setItems(count: number): void {
    const isMore = count > this.#items
    this.#items = count
    if (isMore) this.#tellRaised()
  }

  /** Returns false if the item must wait. */
  has(bytes: number): boolean {
    return bytes <= this.#left && this.#items >= 1
  }

  take(bytes: number): void {
    this.#left -= bytes
    this.#taken += bytes
    this.#items -= 1
  }

  /** Starts to count; the returned function tells the bytes taken since. */
  countTaken(): () => number {
    const before = this.#taken
    return () => this.#taken - before
  }

  onRaised(listener: () => void): void {
    this.#raised.add(listener)
  }

  #tellRaised(): void {
    for (const raised of this.#raised) raised()
  }
}
