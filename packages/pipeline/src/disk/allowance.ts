/**
 * How many bytes may still come into the queues before the disk is looked at again. The limit is what keeps a fast source
 * from passing the disk budget between two looks; what waits for more is let in when it grows.
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

  /** False where it has to wait. */
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
