import type { RawMessage } from '../../payload/raw-message.ts'
import { type ByteBounds, UNBOUNDED } from '../byte-bounds.ts'
import type { SqliteStatement, SqlValue } from './driver.ts'

/**
 * The size of a row as counted against the limit. `octet_length` reads it from the row's header, not from overflow
 * pages.
 */
export const ROW_BYTES = `octet_length(payload) + coalesce(octet_length(headers), 0) + coalesce(octet_length(key), 0)`

/** A message's columns. The first parameter is the size up to which a row comes with its payload. */
export const BOUNDED_COLUMNS = `
  created_at, salt, key, type, message_id, ${ROW_BYTES} as bytes,
  case when ${ROW_BYTES} <= ?1 then headers end as headers, case when ${ROW_BYTES} <= ?1 then payload end as payload`

export type BoundedRow = {
  readonly id: number
  readonly created_at: number
  readonly salt: number
  readonly key: string | null
  readonly type: string | null
  readonly message_id: string | null
  readonly bytes: number
  readonly headers: string | null
  /** null if it is too large. */
  readonly payload: string | Uint8Array | null
}

export type BoundedRows<T> = {
  readonly rows: readonly T[]
  readonly bytes: number
  /** The next row did not fit. */
  readonly isCut: boolean
}

/** `taken`: the number of rows already in the page. */
export type Room = Pick<ByteBounds, 'maxBytes'> & { readonly taken?: number }

/** Reads row by row, and stops when the page is full. The first row of a page always fits. */
export function rowsWithin<T>(
  statement: SqliteStatement,
  values: readonly SqlValue[],
  { maxBytes = UNBOUNDED, taken = 0 }: Room,
  bytesOf: (row: T) => number,
): BoundedRows<T> {
  const rows: T[] = []
  let bytes = 0
  for (const each of statement.iterate(...values)) {
    const row = each as T
    const counted = bytesOf(row)
    if (taken + rows.length > 0 && bytes + counted > maxBytes) return { rows, bytes, isCut: true }
    bytes += counted
    rows.push(row)
  }
  return { rows, bytes, isCut: false }
}

/** A row whose payload was left out takes no room. */
export const messageBytes = ({ payload, bytes }: BoundedRow): number => (payload === null ? 0 : bytes)

export function toRawMessage({ payload, bytes, message_id, created_at, ...row }: BoundedRow): RawMessage {
  const message = { ...row, messageId: message_id, createdAt: created_at }
  if (payload !== null) return { ...message, payload }
  return { ...message, payload: row.type === null ? '' : new Uint8Array(0), omittedBytes: bytes }
}
