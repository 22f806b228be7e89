import { GENOME_BYTES } from './genome.ts'

const FIRST_CAPACITY = 256
export const NO_PARENT = 0

/**
 * The organisms as columns, ascending by id: newborns are appended, and `bury()` closes the gaps in order. Organisms
 * that died in this tick stay until the next one begins, so that a snapshot can show them.
 */
export class Population {
  count = 0
  id = new Int32Array(FIRST_CAPACITY)
  parent = new Int32Array(FIRST_CAPACITY)
  /** Ticks can exceed 32 bits. */
  birthTick = new Float64Array(FIRST_CAPACITY)
  lineage = new Int32Array(FIRST_CAPACITY)
  /** The clan of its lineage. */
  clan = new Uint8Array(FIRST_CAPACITY)
  /** Genes changed since the lineage began. */
  drift = new Int32Array(FIRST_CAPACITY)
  cell = new Int32Array(FIRST_CAPACITY)
  direction = new Int32Array(FIRST_CAPACITY)
  dead = new Uint8Array(FIRST_CAPACITY)
  genome = new Uint8Array(FIRST_CAPACITY * GENOME_BYTES)

  /** Adds a slot; the caller fills its columns. */
  add(): number {
    if (this.count === this.id.length) this.#grow(2 * this.count)
    this.dead[this.count] = 0
    return this.count++
  }

  /** Removes the dead. */
  bury(): void {
    let kept = 0
    for (let slot = 0; slot < this.count; slot++) {
      if (this.dead[slot] === 1) continue
      if (kept !== slot) this.#move(slot, kept)
      kept++
    }
    this.count = kept
  }

  /** Ids ascend, so binary search finds the slot. */
  slotOf(id: number): number {
    let low = 0
    let high = this.count - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.id[middle] as number) < id) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Makes room for at least this many, for a saved state. */
  reserveCapacity(count: number): void {
    if (count > this.id.length) this.#grow(count)
  }

  #move(from: number, to: number): void {
    this.id[to] = this.id[from] as number
    this.parent[to] = this.parent[from] as number
    this.birthTick[to] = this.birthTick[from] as number
    this.lineage[to] = this.lineage[from] as number
    this.clan[to] = this.clan[from] as number
    this.drift[to] = this.drift[from] as number
    this.cell[to] = this.cell[from] as number
    this.direction[to] = this.direction[from] as number
    this.dead[to] = this.dead[from] as number
    this.genome.copyWithin(to * GENOME_BYTES, from * GENOME_BYTES, (from + 1) * GENOME_BYTES)
  }

  #grow(capacity: number): void {
    this.id = grown(this.id, new Int32Array(capacity))
    this.parent = grown(this.parent, new Int32Array(capacity))
    this.birthTick = grown(this.birthTick, new Float64Array(capacity))
    this.lineage = grown(this.lineage, new Int32Array(capacity))
    this.clan = grown(this.clan, new Uint8Array(capacity))
    this.drift = grown(this.drift, new Int32Array(capacity))
    this.cell = grown(this.cell, new Int32Array(capacity))
    this.direction = grown(this.direction, new Int32Array(capacity))
    this.dead = grown(this.dead, new Uint8Array(capacity))
    this.genome = grown(this.genome, new Uint8Array(capacity * GENOME_BYTES))
  }
}

function grown<T extends Int32Array | Uint8Array | Float64Array>(old: T, larger: T): T {
  larger.set(old)
  return larger
}
