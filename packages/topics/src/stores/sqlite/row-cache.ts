import { RowCache } from '../row-cache.ts'

/** The row caches of topics that several groups of this process read, one per topic. */
export class SharedRowCache {
  readonly #maxBytes: number
  readonly #byTopic = new Map<number, RowCache>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  of(topicId: number): RowCache {
    let cache = this.#byTopic.get(topicId)
    if (cache === undefined) {
      cache = new RowCache(this.#maxBytes)
      this.#byTopic.set(topicId, cache)
    }
    return cache
  }

  delete(topicId: number): void {
    this.#byTopic.delete(topicId)
  }

  clear(): void {
    this.#byTopic.clear()
  }
}
