import type { IndexDatabase } from '../databases/index-database.ts'

/** About 5 MB. */
const MOST_KNOWN = 100_000
const ASKED_AT_ONCE = 5_000

/** Lineages of organisms, which never change: a viewer requests those of every tick it plays. */
export class KnownLineages {
  readonly #database: IndexDatabase
  readonly #known = new Map<number, number>()

  constructor(database: IndexDatabase) {
    this.#database = database
  }

  /** In the order of the ids; 0 if one is unknown. */
  async of(ids: Int32Array): Promise<Int32Array> {
    const lineages = new Int32Array(ids.length)
    const found = new Map<number, number>()
    const unknown: number[] = []
    for (const id of ids) {
      const lineage = this.#known.get(id)
      if (lineage === undefined) unknown.push(id)
      else found.set(id, lineage)
    }
    for (let at = 0; at < unknown.length; at += ASKED_AT_ONCE) {
      const rows = await this.#database.organisms.lineagesOf(unknown.slice(at, at + ASKED_AT_ONCE))
      for (const { id, lineage } of rows) {
        found.set(id, lineage)
        this.#known.set(id, lineage)
      }
    }
    for (const [oldest] of this.#known) if (this.#known.size > MOST_KNOWN) this.#known.delete(oldest)
    for (let at = 0; at < ids.length; at++) lineages[at] = found.get(ids[at] as number) ?? 0
    return lineages
  }
}
