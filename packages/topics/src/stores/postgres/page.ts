import type { RawMessage } from '../../raw-message.ts'
import { readArray, readBytes, readText } from './binary-array.ts'
import type { Row } from './database.ts'

/** PostgreSQL counts microseconds from the year 2000. */
const EPOCH_MS = Date.UTC(2000, 0, 1)

/** Between JSON texts: a character that JSON can't contain. */
const SEPARATOR = '\u001e'

/** The rows that `pack()` (migrations/004_claim.sql) put into one, or undefined where a text held the separator. */
export function decodePage(row: Row): RawMessage[] | undefined {
  const ids = decodeIds(row)
  const types = textColumn(row.types)
  const payloads = decodePayloads(row, types, ids.length)
  if (!payloads) return undefined
  const created = row.created ? readArray(row.created, readTimestamp) : []
  const keys = textColumn(row.keys)
  const headers = textColumn(row.headers)
  const messageIds = textColumn(row.message_ids)
  return ids.map((id, index) => ({
    id,
    payload: payloads[index] ?? '',
    type: types?.[index] ?? null,
    key: keys?.[index] ?? null,
    headers: headers?.[index] ?? null,
    messageId: messageIds?.[index] ?? null,
    // One value alone stands for all.
    createdAt: (created.length === 1 ? created[0] : created[index]) ?? 0,
  }))
}

export const decodeIds = (row: Row): number[] => (row.ids ? row.ids.split(',').map(Number) : [])

/** JSON comes as text and everything else as bytes, each in the order of its rows. */
function decodePayloads(row: Row, types: (string | null)[] | undefined, size: number) {
  if (row.texts === null && !types) return row.payloads ? readArray(row.payloads, readText) : undefined
  const texts = row.texts?.split(SEPARATOR) ?? []
  if (!types) return texts.length === size ? texts : undefined
  if (row.texts === null) return mixedBytes(row, types)
  const bytes = row.payloads ? readArray(row.payloads, readBytes) : []
  if (texts.length + bytes.length !== size) return undefined
  let text = 0
  let byte = 0
  return types.map(type => (type === null ? texts[text++] : bytes[byte++]) ?? null)
}

/** All payloads came as bytes, those of JSON too. */
function mixedBytes(row: Row, types: (string | null)[]): (string | Uint8Array | null)[] {
  let index = 0
  return readArray(row.payloads ?? '', (buffer, start, end) =>
    types[index++] === null ? readText(buffer, start, end) : readBytes(buffer, start, end),
  )
}

const textColumn = (hex: string | null | undefined) => (hex ? readArray(hex, readText) : undefined)

function readTimestamp(buffer: Buffer, start: number): number {
  const microseconds = buffer.readInt32BE(start) * 0x1_0000_0000 + buffer.readUInt32BE(start + 4)
  return EPOCH_MS + Math.floor(microseconds / 1_000)
}
