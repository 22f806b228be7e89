/** A set of whole numbers from 0 up, one bit each. */
export class SeenNumbers {
  #bits = new Uint8Array(1024)
  #size = 0

  get size(): number {
    return this.#size
  }

  add(number: number): void {
    const at = number >>> 3
    if (at >= this.#bits.length) this.#grow(at)
    const mask = 1 << (number & 7)
    const before = this.#bits[at] ?? 0
    if ((before & mask) !== 0) return
    this.#bits[at] = before | mask
    this.#size++
  }

  #grow(at: number): void {
    const bits = new Uint8Array(Math.max(at + 1, this.#bits.length * 2))
    bits.set(this.#bits)
    this.#bits = bits
  }
}
