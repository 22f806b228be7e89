import { asBuffer } from '../answers/encoded.ts'
import type { Problem } from '../problems/problem.ts'
import type { FrameStep } from './frame-ticks.ts'

/** Kinds of records in the stream. */
const FRAME_KINDS = { key: 0, xor: 1, gap: 2, end: 3, problem: 4 } as const

/** Every Nth frame is complete, so that a reader can begin there. */
export const KEY_EVERY = 30

/** Frames as records: varint length of the rest, varint tick, a byte for the kind, and the bytes. */
export class FrameRecords {
  #before: Uint8Array | undefined
  #count = 0

  of(step: FrameStep<ArrayBufferView>): Buffer {
    if (step.kind === 'end') return record(step.tick, FRAME_KINDS.end, NOTHING)
    if (step.kind === 'gap') return record(step.tick, FRAME_KINDS.gap, Buffer.from(varint(step.last)))
    const pixels = asBuffer(step.found)
    const before = this.#count++ % KEY_EVERY === 0 ? undefined : this.#before
    this.#before = pixels
    if (before === undefined) return record(step.tick, FRAME_KINDS.key, pixels)
    return record(step.tick, FRAME_KINDS.xor, difference(before, pixels))
  }

  problem(tick: number, problem: Problem): Buffer {
    return record(tick, FRAME_KINDS.problem, Buffer.from(JSON.stringify(problem)))
  }
}

const NOTHING = Buffer.alloc(0)

function record(tick: number, kind: number, bytes: Uint8Array): Buffer {
  const head = [...varint(tick), kind]
  return Buffer.concat([Buffer.from(varint(head.length + bytes.length)), Buffer.from(head), bytes])
}

function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  bytes.push(rest)
  return bytes
}

/** Word by word if both are aligned: a million bytes take less than a millisecond. */
function difference(before: Uint8Array, now: Uint8Array): Uint8Array {
  const found = new Uint8Array(now.length)
  const isAligned = before.byteOffset % 4 === 0 && now.byteOffset % 4 === 0
  const words = isAligned ? now.length >>> 2 : 0
  const [a, b] = [
    new Uint32Array(before.buffer, before.byteOffset * Number(isAligned), words),
    new Uint32Array(now.buffer, now.byteOffset * Number(isAligned), words),
  ]
  const out = new Uint32Array(found.buffer, 0, words)
  for (let at = 0; at < words; at++) out[at] = (a[at] as number) ^ (b[at] as number)
  for (let at = words * 4; at < now.length; at++) found[at] = (before[at] as number) ^ (now[at] as number)
  return found
}
