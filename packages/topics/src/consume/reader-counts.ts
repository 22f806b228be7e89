/** How many groups of this process read a topic: with two or more, rows are worth sharing. */
export class ReaderCounts {
  readonly #counts = new Map<number, Map<number, number>>()

  add(topicId: number, subscriptionId: number): () => void {
    const groups = this.#counts.get(topicId) ?? new Map<number, number>()
    this.#counts.set(topicId, groups)
    groups.set(subscriptionId, (groups.get(subscriptionId) ?? 0) + 1)
    return () => {
      const left = (groups.get(subscriptionId) ?? 1) - 1
      if (left > 0) groups.set(subscriptionId, left)
      else groups.delete(subscriptionId)
    }
  }

  isShared(topicId: number): boolean {
    return (this.#counts.get(topicId)?.size ?? 0) > 1
  }
}
