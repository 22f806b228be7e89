import type { Organism } from './organism.ts'
import { LINEAGE_COLOURS, OTHERS_SLOT } from './palette.ts'

/**
 * Assigns colours to lineages. The seven largest get one and keep it while they are shown: a colour that changes its
 * meaning is worse than none.
 */
export class Lineages {
  /** Slot 1 to 7, by lineage. */
  readonly #slots = new Map<number, number>()
  /** Lineage of every owner seen so far: trails outlive their owners. */
  readonly #lineageOf = new Map<number, number>()
  /** Slot of every owner, in the form that painting needs. */
  owners = new Uint8Array(1024)
  sizes: readonly { readonly lineage: number; readonly alive: number; readonly slot: number }[] = []

  update(organisms: readonly Organism[]): void {
    const alive = new Map<number, number>()
    for (const { id, lineage, isDead } of organisms) {
      this.#lineageOf.set(id, lineage)
      if (!isDead) alive.set(lineage, (alive.get(lineage) ?? 0) + 1)
    }
    const largest = [...alive].sort(([, one], [, other]) => other - one).slice(0, LINEAGE_COLOURS.length)
    const shown = new Set(largest.map(([lineage]) => lineage))
    for (const lineage of this.#slots.keys()) if (!shown.has(lineage)) this.#slots.delete(lineage)
    for (const [lineage] of largest) if (!this.#slots.has(lineage)) this.#slots.set(lineage, this.#freeSlot())
    this.sizes = largest.map(([lineage, count]) => ({ lineage, alive: count, slot: this.slotOf(lineage) }))
    this.#paintOwners()
  }

  slotOf = (lineage: number): number => this.#slots.get(lineage) ?? OTHERS_SLOT

  #freeSlot(): number {
    const used = new Set(this.#slots.values())
    for (let slot = 1; slot <= LINEAGE_COLOURS.length; slot++) if (!used.has(slot)) return slot
    return OTHERS_SLOT
  }

  #paintOwners(): void {
    const highest = Math.max(0, ...this.#lineageOf.keys())
    if (highest >= this.owners.length) this.owners = new Uint8Array(2 ** Math.ceil(Math.log2(highest + 2)))
    else this.owners.fill(0)
    for (const [owner, lineage] of this.#lineageOf) if (owner >= 0) this.owners[owner] = this.slotOf(lineage)
  }
}

/** Distinguishes owners by their ids, if colours are by owner. */
export function ownerSlots(organisms: readonly Organism[], size: number): Uint8Array {
  const highest = organisms.reduce((most, { id }) => Math.max(most, id), size)
  return Uint8Array.from({ length: highest + 1 }, (_, id) => (id === 0 ? 0 : 1 + ((id * 7) % LINEAGE_COLOURS.length)))
}
