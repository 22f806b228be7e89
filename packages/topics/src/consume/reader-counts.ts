/** How many groups of this process read a topic: with two or more, rows are worth sharing. */
export class ReaderCounts {
  readonly #counts = new Map<number, Map<number, number>>()
  readonly #left: (topicId: number, subscriptionId: number, shared: boolean) => void

  /** `left` is called when data kept for a group, or for a topic whose groups no longer share, can be dropped. */
  constructor(left: (topicId: number, subscriptionId: number, shared: boolean) => void) {
    this.#left = left
  }

  add(topicId: number, subscriptionId: number): () => void {
    const groups = this.#counts.get(topicId) ?? new Map<number, number>()
    this.#counts.set(topicId, groups)
    groups.set(subscriptionId, (groups.get(subscriptionId) ?? 0) + 1)
    return () => {
      const left = (groups.get(subscriptionId) ?? 1) - 1
      if (left > 0) {
        groups.set(subscriptionId, left)
        return
      }
      groups.delete(subscriptionId)
      if (groups.size === 0 && this.#counts.get(topicId) === groups) this.#counts.delete(topicId)
      this.#left(topicId, subscriptionId, this.isShared(topicId))
    }
  }

  isShared(topicId: number): boolean {
    return (this.#counts.get(topicId)?.size ?? 0) > 1
  }
}
