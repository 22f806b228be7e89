import type { Organism } from './organism.ts'
import { LINEAGE_COLOURS, OTHERS_SLOT, PICKED_SLOT } from './palette.ts'

const MOST_KNOWN = 40_000

type Living = Pick<Organism, 'id' | 'lineage' | 'isDead'>

export type LineageSize = { readonly lineage: number; readonly alive: number; readonly slot: number }

/**
 * Which lineage has which colour. The seven largest get one and keep it while they are shown: a colour that changes its meaning
 * while one looks is worse than none.
 */
export class Lineages {
  /** Slot 1 to 7, by lineage. */
  readonly #slots = new Map<number, number>()
  /** Lineage of every owner seen so far: trails outlive those who left them. */
  readonly #lineageOf = new Map<number, number>()
  /** Slot of every owner, as painting wants it. */
  owners = new Uint8Array(1024)
  sizes: readonly LineageSize[] = []
  #picked: number | undefined

  update(organisms: readonly Living[]): void {
    const alive = new Map<number, number>()
    for (const { id, lineage, isDead } of organisms) {
      this.#lineageOf.set(id, lineage)
      if (!isDead) alive.set(lineage, (alive.get(lineage) ?? 0) + 1)
    }
    this.#forget()
    const largest = [...alive].sort(([, one], [, other]) => other - one).slice(0, LINEAGE_COLOURS.length)
    const shown = new Set(largest.map(([lineage]) => lineage))
    for (const lineage of this.#slots.keys()) if (!shown.has(lineage)) this.#slots.delete(lineage)
    for (const [lineage] of largest) if (!this.#slots.has(lineage)) this.#slots.set(lineage, this.#freeSlot())
    this.sizes = largest.map(([lineage, count]) => ({ lineage, alive: count, slot: this.slotOf(lineage) }))
    this.#paintOwners()
  }

  /** A lineage that is not among the largest gets its own colour while it is picked. */
  pick(lineage: number | undefined): void {
    this.#picked = lineage
    this.#paintOwners()
  }

  slotOf = (lineage: number): number =>
    this.#slots.get(lineage) ?? (lineage === this.#picked ? PICKED_SLOT : OTHERS_SLOT)

  lineageOf = (owner: number): number | undefined => this.#lineageOf.get(owner)

  /**
   * Trails disappear soon after their organisms, so the longest known half can be dropped. Going back loads them again.
   */
  #forget(): void {
    if (this.#lineageOf.size <= MOST_KNOWN) return
    let left = MOST_KNOWN / 2
    for (const owner of this.#lineageOf.keys()) {
      if (left-- <= 0) return
      this.#lineageOf.delete(owner)
    }
  }

  #freeSlot(): number {
    const used = new Set(this.#slots.values())
    for (let slot = 1; slot <= LINEAGE_COLOURS.length; slot++) if (!used.has(slot)) return slot
    return OTHERS_SLOT
  }

  #paintOwners(): void {
    let highest = 0
    for (const owner of this.#lineageOf.keys()) if (owner > highest) highest = owner
    if (highest >= this.owners.length) this.owners = new Uint8Array(2 ** Math.ceil(Math.log2(highest + 2)))
    // An unknown owner belongs to the others; 0 is nobody.
    this.owners.fill(OTHERS_SLOT, 1)
    for (const [owner, lineage] of this.#lineageOf) if (owner >= 0) this.owners[owner] = this.slotOf(lineage)
  }
}

/** Owners told apart by their ids, where colours are by owner. */
export const ownerSlots = (highest: number): Uint8Array =>
  Uint8Array.from({ length: highest + 1 }, (_, id) => (id === 0 ? 0 : 1 + (id % LINEAGE_COLOURS.length)))
