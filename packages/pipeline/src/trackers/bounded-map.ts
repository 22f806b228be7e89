/** A map with a maximum number of entries; the least recently used is evicted first. A Map keeps insertion order. */
export class BoundedMap<V> {
  readonly #entries = new Map<string, V>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#entries.size
  }

  /** Counts as a use. */
  get(key: string): V | undefined {
    const value = this.#entries.get(key)
    if (value !== undefined) this.set(key, value)
    return value
  }

  set(key: string, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#limit) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      break
    }
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  deleteWhere(condition: (value: V) => boolean): number {
    let deleted = 0
    for (const [key, value] of this.#entries) {
      if (!condition(value)) continue
      this.#entries.delete(key)
      deleted++
    }
    return deleted
  }
}
