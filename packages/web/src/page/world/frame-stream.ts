import { blankFrame, type Frame } from './plane.ts'

/** Kinds of records in a stream of frames. */
const KEY = 0
const XOR = 1
const GAP = 2
const END = 3
const PROBLEM = 4

type Record = { readonly tick: number; readonly kind: number; readonly body: Uint8Array }

/** One plane of consecutive ticks, out of the bytes of a stream as they come: keys, and differences to the frame before. */
export class PlaneReader {
  #chunks: Uint8Array[] = []
  #have = 0
  #needed = 1
  #pixels: Uint8Array<ArrayBuffer> | undefined

  /** The frames and gaps that these bytes complete. Pieces are joined when a record is whole, not with every piece. */
  read(bytes: Uint8Array): PlaneStep[] {
    this.#chunks.push(bytes)
    this.#have += bytes.length
    if (this.#have < this.#needed) return []
    const all = joined(this.#chunks, this.#have)
    const steps: PlaneStep[] = []
    let at = 0
    for (;;) {
      const record = recordAt(all, at)
      if (record === undefined) break
      at = record.end
      const step = this.#step(record)
      if (step !== undefined) steps.push(step)
    }
    const rest = all.slice(at)
    const length = varintAt(rest, 0)
    this.#chunks = [rest]
    this.#have = rest.length
    this.#needed = length === undefined ? rest.length + 1 : length.end + length.value
    return steps
  }

  #step({ tick, kind, body }: Record): PlaneStep | undefined {
    if (kind === KEY) this.#pixels = body.slice()
    else if (kind === XOR) {
      const before = this.#pixels
      if (before === undefined || before.length !== body.length) throw new Error('A difference came without its frame')
      const pixels = new Uint8Array(before.length)
      for (let at = 0; at < pixels.length; at++) pixels[at] = (before[at] as number) ^ (body[at] as number)
      this.#pixels = pixels
    } else if (kind === GAP) return { tick, missingTo: varintAt(body, 0)?.value ?? tick }
    else if (kind === PROBLEM) throw new Error(problemText(body))
    else if (kind === END) return undefined
    return this.#pixels && { tick, pixels: this.#pixels }
  }
}

export type PlaneStep =
  | { readonly tick: number; readonly pixels: Uint8Array<ArrayBuffer> }
  | { readonly tick: number; readonly missingTo: number }

/** The three planes of a tick make a frame, in the memory of an older one if it has the same size. */
export function frameOf(
  tick: number,
  width: number,
  height: number,
  [type, value, owner]: readonly [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>],
  over?: Frame,
): Frame {
  const frame = blankFrame(tick, width, height, over)
  frame.type.set(type)
  frame.value.set(numbersOf(value))
  frame.owner.set(numbersOf(owner))
  return frame
}

/** Bytes that come out of a stream may begin anywhere. */
const numbersOf = (bytes: Uint8Array<ArrayBuffer>): Int32Array =>
  bytes.byteOffset % 4 === 0
    ? new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2)
    : new Int32Array(bytes.slice().buffer)

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

function recordAt(bytes: Uint8Array, at: number): (Record & { readonly end: number }) | undefined {
  const length = varintAt(bytes, at)
  if (length === undefined || length.end + length.value > bytes.length) return undefined
  const tick = varintAt(bytes, length.end)
  if (tick === undefined) return undefined
  const end = length.end + length.value
  return { tick: tick.value, kind: bytes[tick.end] ?? END, body: bytes.subarray(tick.end + 1, end), end }
}

/** Ticks outgrow 32 bits, so it adds rather than shifts. */
function varintAt(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0
  let scale = 1
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at] as number
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return { value, end: at + 1 }
    scale *= 128
  }
  return undefined
}

function problemText(body: Uint8Array): string {
  try {
    return (
      (JSON.parse(new TextDecoder().decode(body)) as { detail?: string }).detail ?? 'The stream of ticks ended early'
    )
  } catch {
    return 'The stream of ticks ended early'
  }
}
