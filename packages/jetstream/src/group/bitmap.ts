/** The settled slots of a lease, as base64 in the document; null: none. */
export type Bits = string | null

export class Slots {
  readonly #bytes: Uint8Array
  readonly #size: number

  constructor(bits: Bits, size: number) {
    this.#bytes = new Uint8Array((size + 7) >> 3)
    this.#size = size
    if (bits !== null) this.#bytes.set(Buffer.from(bits, 'base64').subarray(0, this.#bytes.length))
  }

  has(slot: number): boolean {
    return (((this.#bytes[slot >> 3] ?? 0) >> (slot & 7)) & 1) === 1
  }

  /** False if the slot does not exist or was set before. */
  take(slot: number): boolean {
    if (slot < 0 || slot >= this.#size || this.has(slot)) return false
    this.#bytes[slot >> 3] = (this.#bytes[slot >> 3] ?? 0) | (1 << (slot & 7))
    return true
  }

  get count(): number {
    let count = 0
    for (let byte of this.#bytes) for (; byte !== 0; byte &= byte - 1) count++
    return count
  }

  /** Slots that are not set. */
  open(): number[] {
    return Array.from({ length: this.#size }, (_, slot) => slot).filter(slot => !this.has(slot))
  }

  toBits(): Bits {
    return Buffer.from(this.#bytes).toString('base64')
  }
}
