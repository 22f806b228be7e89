/**
 * An entry of the log holds the messages of one publish, at most 1024:
 *
 *     u8 version, u8 flags, u16 count, f64 salt, count × u32 length, records
 *     u8 version, u8 flags, u16 count, f64 salt, u32 length of the rest, the rest as a zstd frame
 *
 * A message's id is the sequence of its entry times 1024, plus its place in the entry. A record of a plain entry is the
 * JSON text alone; otherwise it begins with a byte that tells which fields follow, each with its length. The second form
 * is used where it is smaller: every server of the cluster writes an entry twice and sends it on.
 */
import type { RawMessage } from 'tidemark/store'
import { decompress } from './compression.ts'

export const MOST_RECORDS = 1_024
export const VERSION = 1
export const HEAD = 12
export const PLAIN = 1
export const COMPRESSED = 2
/** Bits of a record's first byte. The payload is text unless IS_BYTES is set. */
export const FIELDS = ['key', 'type', 'headers', 'messageId'] as const
export const IS_BYTES = 16

export const idOf = (seq: number, place: number): number => seq * MOST_RECORDS + place
export const seqOf = (id: number): number => Math.floor(id / MOST_RECORDS)
export const placeOf = (id: number): number => id % MOST_RECORDS
/** Above every message of the entry. */
export const endOf = (seq: number): number => idOf(seq, MOST_RECORDS - 1)

type Body = {
  readonly bytes: Buffer
  /** Where each record begins, and where the last one ends. */
  readonly places: Uint32Array
}

/** What follows the head; undefined: the message is none of ours. */
function bodyOf(stored: Buffer): Body | undefined {
  if (stored.length < HEAD || stored.readUInt8(0) !== VERSION) return undefined
  const count = stored.readUInt16LE(2)
  if (!(stored.readUInt8(1) & COMPRESSED)) return bodyWith(count, stored.subarray(HEAD))
  if (stored.length < HEAD + 4) return undefined
  const bytes = decompress(stored.subarray(HEAD + 4), stored.readUInt32LE(HEAD))
  return bytes && bodyWith(count, bytes)
}

function bodyWith(count: number, bytes: Buffer): Body | undefined {
  if (count > MOST_RECORDS || bytes.length < 4 * count) return undefined
  const places = new Uint32Array(count + 1)
  let at = 4 * count
  for (let place = 0; place < count; place++) {
    places[place] = at
    at += bytes.readUInt32LE(4 * place)
  }
  places[count] = at
  return at === bytes.length ? { bytes, places } : undefined
}

const NOTHING: Body = { bytes: Buffer.alloc(0), places: new Uint32Array(1) }

/** An entry as it was read. Its messages are decoded once, when they are first needed. */
export class Entry {
  readonly seq: number
  readonly at: number
  /** In memory. */
  readonly bytes: number
  readonly count: number
  readonly salt: number
  /** As it was stored. */
  readonly stored: Uint8Array
  readonly #isPlain: boolean
  readonly #body: Body
  readonly #messages: (RawMessage | undefined)[]

  constructor({ seq, at, data }: { readonly seq: number; readonly at: number; readonly data: Uint8Array }) {
    this.seq = seq
    this.at = at
    this.stored = data
    const head = Buffer.from(data.buffer, data.byteOffset, data.length)
    const body = bodyOf(head)
    // A message that somebody else has published has no messages of ours: groups pass over it.
    this.count = body === undefined ? 0 : head.readUInt16LE(2)
    this.salt = body === undefined ? 0 : head.readDoubleLE(4)
    this.#isPlain = body !== undefined && (head.readUInt8(1) & PLAIN) !== 0
    this.#body = body ?? NOTHING
    this.bytes = data.length + (body?.bytes.buffer === data.buffer ? 0 : this.#body.bytes.length)
    this.#messages = new Array<RawMessage | undefined>(this.count)
  }

  /** Bytes of a record: its payload and, if it has more fields, those. */
  sizeOf(place: number): number {
    return this.#placeOf(place + 1) - this.#placeOf(place)
  }

  message(place: number): RawMessage | undefined {
    if (place < 0 || place >= this.count) return undefined
    this.#messages[place] ??= this.#decode(place)
    return this.#messages[place]
  }

  #placeOf(record: number): number {
    return this.#body.places[record] ?? 0
  }

  #decode(place: number): RawMessage {
    const { bytes } = this.#body
    let at = this.#placeOf(place)
    const end = this.#placeOf(place + 1)
    const { seq, salt, at: createdAt } = this
    const common = { id: idOf(seq, place), salt, createdAt }
    const none = { key: null, type: null, headers: null, messageId: null }
    if (this.#isPlain) return { ...common, ...none, payload: bytes.toString('utf8', at, end) }
    const flags = bytes.readUInt8(at++)
    const fields: Record<(typeof FIELDS)[number], string | null> = none
    for (const [bit, field] of FIELDS.entries()) {
      if (!(flags & (1 << bit))) continue
      const length = bytes.readUInt32LE(at)
      fields[field] = bytes.toString('utf8', at + 4, at + 4 + length)
      at += 4 + length
    }
    const payload = flags & IS_BYTES ? Uint8Array.from(bytes.subarray(at, end)) : bytes.toString('utf8', at, end)
    return { ...common, ...fields, payload }
  }
}
