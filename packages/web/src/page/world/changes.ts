import type { Frame } from './plane.ts'

/**
 * The cells in which a tick differs from another, as bytes: the distance from the changed cell before, with a bit that
 * tells whether the owner changed as well; the type; the value; and that owner. Numbers are varints, signed ones zigzag.
 * A tick of 1000 × 1000 takes 9 MB decoded, 2.4 MB as the changes to an empty world, and 0.3 MB to the tick before.
 */
export function changesOf(before: Cells | undefined, now: Cells): Uint8Array<ArrayBuffer> {
  const { type, value, owner } = now
  let end = 0
  let last = 0
  for (let at = 0; at < type.length; at++) {
    const isOwner = owner[at] !== (before === undefined ? 0 : before.owner[at])
    if (
      !isOwner &&
      type[at] === (before === undefined ? 0 : before.type[at]) &&
      value[at] === (before === undefined ? 0 : before.value[at])
    )
      continue
    if (end + MOST_OF_A_CELL > written.length) grow()
    end = writeVarint((at - last) * 2 + (isOwner ? 1 : 0), end)
    written[end++] = type[at] as number
    end = writeVarint(zigzag(value[at] as number), end)
    if (isOwner) end = writeVarint(zigzag(owner[at] as number), end)
    last = at
  }
  return written.slice(0, end)
}

/** A prime, so that no pattern of a world repeats with it. */
const SAMPLED = 61

/** The share of the cells with something in them that have changed, judged by a few. */
export function shareOfChanges(before: Cells, { type, value, owner }: Cells): number {
  let changed = 0
  let filled = 0
  for (let at = 0; at < type.length; at += SAMPLED) {
    if (type[at] !== 0) filled++
    if (type[at] !== before.type[at] || value[at] !== before.value[at] || owner[at] !== before.owner[at]) changed++
  }
  return filled === 0 ? 0 : changed / filled
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
let written = new Uint8Array(4_096)

function grow(): void {
  const larger = new Uint8Array(written.length * 2)
  larger.set(written)
  written = larger
}

/** Returns where it ends. */
function writeVarint(value: number, at: number): number {
  const bytes = written
  let end = at
  let rest = value
  for (; rest >= 0x80; rest >>>= 7) bytes[end++] = (rest & 0x7f) | 0x80
  bytes[end++] = rest
  return end
}
