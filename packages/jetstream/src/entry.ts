/**
 * An entry of the log holds the messages of one publish, at most 1024:
 *
 *     u8 version, u8 flags, u16 count, f64 salt, count × u32 end, records
 *
 * A message's id is the sequence of its entry times 1024, plus its place in the entry. A record of a plain entry is the
 * JSON text alone; otherwise it begins with a byte that tells which fields follow, each with its length.
 */
import type { OutgoingMessage, RawMessage } from 'tidemark/store'

export const MOST_RECORDS = 1_024
const VERSION = 1
const HEAD = 12
const PLAIN = 1
/** Bits of a record's first byte. The payload is text unless IS_BYTES is set. */
const FIELDS = ['key', 'type', 'headers', 'messageId'] as const
const IS_BYTES = 16

export const idOf = (seq: number, place: number): number => seq * MOST_RECORDS + place
export const seqOf = (id: number): number => Math.floor(id / MOST_RECORDS)
export const placeOf = (id: number): number => id % MOST_RECORDS
/** Above every message of the entry. */
export const endOf = (seq: number): number => idOf(seq, MOST_RECORDS - 1)

/** A plain one stays a string: the strings of an entry are encoded together, which takes half the time. */
export type EncodedRecord = { readonly bytes: number; readonly content: Buffer | string }

export function encodeRecord(message: OutgoingMessage, isPlain: boolean): EncodedRecord {
  if (isPlain && typeof message.payload === 'string') {
    return { bytes: Buffer.byteLength(message.payload), content: message.payload }
  }
  const content = encodeFields(message)
  return { bytes: content.length, content }
}

function encodeFields(message: OutgoingMessage): Buffer {
  const payload = typeof message.payload === 'string' ? Buffer.from(message.payload) : message.payload
  let flags = typeof message.payload === 'string' ? 0 : IS_BYTES
  const parts: Uint8Array[] = []
  for (const [bit, field] of FIELDS.entries()) {
    const value = message[field]
    if (value === null) continue
    flags |= 1 << bit
    const bytes = Buffer.from(value)
    const length = Buffer.allocUnsafe(4)
    length.writeUInt32LE(bytes.length)
    parts.push(length, bytes)
  }
  return Buffer.concat([Uint8Array.of(flags), ...parts, payload])
}

export const isPlainMessage = ({ key, type, headers, messageId, payload }: OutgoingMessage): boolean =>
  key === null && type === null && headers === null && messageId === null && typeof payload === 'string'

/** An empty entry marks a place in the log. */
export function encodeEntry(records: readonly EncodedRecord[], isPlain: boolean, salt: number): Buffer {
  const head = HEAD + 4 * records.length
  const entry = Buffer.allocUnsafe(records.reduce((sum, { bytes }) => sum + bytes, head))
  entry.writeUInt8(VERSION, 0)
  entry.writeUInt8(isPlain ? PLAIN : 0, 1)
  entry.writeUInt16LE(records.length, 2)
  entry.writeDoubleLE(salt, 4)
  let end = 0
  for (const [place, { bytes, content }] of records.entries()) {
    if (!isPlain && typeof content !== 'string') entry.set(content, head + end)
    end += bytes
    entry.writeUInt32LE(end, HEAD + 4 * place)
  }
  if (isPlain) entry.write(records.map(({ content }) => content).join(''), head)
  return entry
}

/** Bytes that an entry of this many records has besides them. */
export const entryOverhead = (count: number): number => HEAD + 4 * count

function isEntry(data: Buffer): boolean {
  if (data.length < HEAD || data.readUInt8(0) !== VERSION) return false
  const count = data.readUInt16LE(2)
  const records = HEAD + 4 * count
  if (count > MOST_RECORDS || data.length < records) return false
  return count === 0 ? data.length === records : data.readUInt32LE(records - 4) === data.length - records
}

/** An entry as it was read. Its messages are decoded once, when they are first needed. */
export class Entry {
  readonly seq: number
  readonly at: number
  readonly bytes: number
  readonly count: number
  readonly salt: number
  readonly isForeign: boolean
  readonly #data: Buffer
  readonly #messages: (RawMessage | undefined)[]

  constructor({ seq, at, data }: { readonly seq: number; readonly at: number; readonly data: Uint8Array }) {
    this.seq = seq
    this.at = at
    this.bytes = data.length
    this.#data = Buffer.from(data.buffer, data.byteOffset, data.length)
    // A message that somebody else has published has no messages of ours: groups pass over it.
    this.isForeign = !isEntry(this.#data)
    this.count = this.isForeign ? 0 : this.#data.readUInt16LE(2)
    this.salt = this.isForeign ? 0 : this.#data.readDoubleLE(4)
    this.#messages = new Array<RawMessage | undefined>(this.count)
  }

  /** As it was stored. */
  get data(): Uint8Array {
    return this.#data
  }

  /** Bytes of a record: its payload and, if it has more fields, those. */
  sizeOf(place: number): number {
    return this.#end(place) - this.#end(place - 1)
  }

  message(place: number): RawMessage | undefined {
    if (place < 0 || place >= this.count) return undefined
    this.#messages[place] ??= this.#decode(place)
    return this.#messages[place]
  }

  #end(place: number): number {
    return place < 0 ? 0 : this.#data.readUInt32LE(HEAD + 4 * place)
  }

  #decode(place: number): RawMessage {
    const records = HEAD + 4 * this.count
    let at = records + this.#end(place - 1)
    const end = records + this.#end(place)
    const { seq, salt, at: createdAt } = this
    const common = { id: idOf(seq, place), salt, createdAt }
    const none = { key: null, type: null, headers: null, messageId: null }
    if (this.#data.readUInt8(1) & PLAIN) return { ...common, ...none, payload: this.#data.toString('utf8', at, end) }
    const flags = this.#data.readUInt8(at++)
    const fields: Record<(typeof FIELDS)[number], string | null> = none
    for (const [bit, field] of FIELDS.entries()) {
      if (!(flags & (1 << bit))) continue
      const length = this.#data.readUInt32LE(at)
      fields[field] = this.#data.toString('utf8', at + 4, at + 4 + length)
      at += 4 + length
    }
    const payload =
      flags & IS_BYTES ? Uint8Array.from(this.#data.subarray(at, end)) : this.#data.toString('utf8', at, end)
    return { ...common, ...fields, payload }
  }
}
