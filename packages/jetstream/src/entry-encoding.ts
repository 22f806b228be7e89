import type { OutgoingMessage } from 'tidemark/store'
import { compress } from './compression.ts'
import { COMPRESSED, FIELDS, HEAD, IS_BYTES, MOST_RECORDS, PLAIN, VERSION } from './entry.ts'

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
  const head = entryOverhead(records.length)
  const entry = Buffer.allocUnsafe(records.reduce((sum, { bytes }) => sum + bytes, head))
  writeHead(entry, { isPlain, count: records.length, salt })
  let at = head
  for (const [place, { bytes, content }] of records.entries()) {
    // Not where it ends: equal lengths take no room in a frame.
    entry.writeUInt32LE(bytes, HEAD + 4 * place)
    if (!isPlain && typeof content !== 'string') entry.set(content, at)
    at += bytes
  }
  if (isPlain) entry.write(records.map(({ content }) => content).join(''), head)
  return compressedEntry(entry) ?? entry
}

const encoder = new TextEncoder()

/**
 * Nearly every batch: JSON texts of one byte a character, which fit into one entry. Their lengths are known without
 * measuring each. undefined: they are others.
 */
export function encodeTexts(texts: readonly string[], salt: number, limit: number): Buffer | undefined {
  if (texts.length > MOST_RECORDS) return undefined
  const all = texts.join('')
  const head = entryOverhead(texts.length)
  if (head + all.length > limit) return undefined
  const entry = Buffer.allocUnsafe(head + all.length)
  const { read } = encoder.encodeInto(all, entry.subarray(head))
  if (read !== all.length) return undefined
  writeHead(entry, { isPlain: true, count: texts.length, salt })
  for (let place = 0; place < texts.length; place++) entry.writeUInt32LE(texts[place]?.length ?? 0, HEAD + 4 * place)
  return compressedEntry(entry) ?? entry
}

type Head = { readonly isPlain: boolean; readonly count: number; readonly salt: number }

function writeHead(entry: Buffer, { isPlain, count, salt }: Head): void {
  entry.writeUInt8(VERSION, 0)
  entry.writeUInt8(isPlain ? PLAIN : 0, 1)
  entry.writeUInt16LE(count, 2)
  entry.writeDoubleLE(salt, 4)
}

function compressedEntry(entry: Buffer): Buffer | undefined {
  const rest = entry.subarray(HEAD)
  const frame = compress(rest)
  if (frame === undefined) return undefined
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32LE(rest.length)
  const compressed = Buffer.concat([entry.subarray(0, HEAD), length, frame])
  compressed.writeUInt8(entry.readUInt8(1) | COMPRESSED, 1)
  return compressed
}

/** Bytes that an entry of this many records has besides them. */
export const entryOverhead = (count: number): number => HEAD + 4 * count
