/** Where an element stands in its set; -1: nowhere. */
export type Placed = { place: number }

/** A set whose elements know their place, so that adding and deleting, once for every message, cost next to nothing. */
export class RunningSet<T extends Placed> {
  readonly #elements: T[] = []

  get size(): number {
    return this.#elements.length
  }

  add(element: T): void {
    element.place = this.#elements.length
    this.#elements.push(element)
  }

  /** False where it was not in. */
  delete(element: T): boolean {
    if (element.place < 0) return false
    const last = this.#elements.pop()
    if (last !== undefined && last !== element) {
      this.#elements[element.place] = last
      last.place = element.place
    }
    element.place = -1
    return true
  }

  all(): T[] {
    return [...this.#elements]
  }
}
