const KEPT = 60

/** The rates of nodes at the last looks, for as long as the page is open. */
export class FlowMemory {
  readonly #rates = new Map<string, readonly number[]>()
  #at = ''

  /** Each look counts once, however often it is drawn. */
  add(at: string, rates: ReadonlyMap<string, number>): void {
    if (at === this.#at) return
    this.#at = at
    for (const [id, perSecond] of rates) this.#rates.set(id, [...(this.#rates.get(id) ?? []), perSecond].slice(-KEPT))
  }

  of(id: string): readonly number[] {
    return this.#rates.get(id) ?? []
  }
}
