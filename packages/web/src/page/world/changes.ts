import type { Frame } from './plane.ts'

/**
 * The cells in which a tick differs from another, as bytes: the distance from the changed cell before, with a bit that
 * tells whether the owner changed as well; the type; the value; and that owner. Numbers are varints, signed ones zigzag.
 * A tick of 1000 × 1000 takes 9 MB decoded, 2.4 MB as the changes to an empty world, and 0.3 MB to the tick before.
 */
export function changesOf(before: Cells | undefined, now: Cells): Uint8Array<ArrayBuffer> {
  writer.clear()
  const { type, value, owner } = now
  let last = 0
  for (let at = 0; at < type.length; at++) {
    const isOwner = owner[at] !== (before === undefined ? 0 : before.owner[at])
    if (
      !isOwner &&
      type[at] === (before === undefined ? 0 : before.type[at]) &&
      value[at] === (before === undefined ? 0 : before.value[at])
    )
      continue
    writer.reserve()
    writer.varint((at - last) * 2 + (isOwner ? 1 : 0))
    writer.byte(type[at] as number)
    writer.varint(zigzag(value[at] as number))
    if (isOwner) writer.varint(zigzag(owner[at] as number))
    last = at
  }
  return writer.bytes()
}

/** Turns the cells that were compared into those they were compared with. */
export function applyChanges({ type, value, owner }: Cells, changes: Uint8Array): void {
  let at = 0
  let cell = 0
  const varint = (): number => {
    let byte = changes[at++] as number
    if (byte < 0x80) return byte
    let read = byte & 0x7f
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = changes[at++] as number
      read |= (byte & 0x7f) << shift
    }
    return read
  }
  while (at < changes.length) {
    const step = varint()
    cell += step >>> 1
    type[cell] = changes[at++] as number
    value[cell] = unzigzag(varint())
    if ((step & 1) === 1) owner[cell] = unzigzag(varint())
  }
}

type Cells = Pick<Frame, 'type' | 'value' | 'owner'>

const zigzag = (value: number): number => ((value << 1) ^ (value >> 31)) >>> 0
const unzigzag = (value: number): number => (value >>> 1) ^ -(value & 1)

/** A cell takes three varints and a byte at most. */
const MOST_OF_A_CELL = 16

/** Grows to the largest tick, and is used again for every other. */
class Writer {
  #bytes = new Uint8Array(4_096)
  #end = 0

  clear(): void {
    this.#end = 0
  }

  /** Makes room for one cell. */
  reserve(): void {
    if (this.#end + MOST_OF_A_CELL <= this.#bytes.length) return
    const larger = new Uint8Array(this.#bytes.length * 2)
    larger.set(this.#bytes)
    this.#bytes = larger
  }

  byte(value: number): void {
    this.#bytes[this.#end++] = value
  }

  varint(value: number): void {
    let rest = value
    for (; rest >= 0x80; rest >>>= 7) this.#bytes[this.#end++] = (rest & 0x7f) | 0x80
    this.#bytes[this.#end++] = rest
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#end)
  }
}

const writer = new Writer()
