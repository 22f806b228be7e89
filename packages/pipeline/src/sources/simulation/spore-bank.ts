import { GENOME_BYTES } from './genome.ts'
import type { Population } from './population.ts'

const CAPACITY = 64

/** The organisms that died last, as a ring: the source of new ones when hardly any are left. */
export class SporeBank {
  count = 0
  next = 0
  readonly parent = new Int32Array(CAPACITY)
  readonly lineage = new Int32Array(CAPACITY)
  readonly drift = new Int32Array(CAPACITY)
  readonly genome = new Uint8Array(CAPACITY * GENOME_BYTES)

  keep(population: Population, slot: number): void {
    const place = this.next
    this.next = (place + 1) % CAPACITY
    this.count = Math.min(CAPACITY, this.count + 1)
    this.parent[place] = population.id[slot] as number
    this.lineage[place] = population.lineage[slot] as number
    this.drift[place] = population.drift[slot] as number
    const from = slot * GENOME_BYTES
    // Byte by byte: a subarray would be an allocation for every death.
    for (let gene = 0; gene < GENOME_BYTES; gene++) {
      this.genome[place * GENOME_BYTES + gene] = population.genome[from + gene] as number
    }
  }
}
