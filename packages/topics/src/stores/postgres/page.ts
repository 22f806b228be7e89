import type { RawMessage } from '../../payload/raw-message.ts'
import { readArray, readBytes, readText } from './binary-array.ts'
import type { Row } from './row.ts'

/** PostgreSQL counts microseconds from the year 2000. */
const EPOCH_MS = Date.UTC(2000, 0, 1)

/** Separates JSON texts: a character that JSON can't contain. */
const SEPARATOR = '\u001e'

type Extra = Pick<RawMessage, 'key' | 'type' | 'headers' | 'messageId'> & { readonly id: number }

/** What the rows of one publish share. */
type Stamp = { readonly salt: number; readonly createdAt: number; readonly xid: number }

const NO_EXTRA = { key: null, type: null, headers: null, messageId: null }

/**
 * The rows packed by `pack()` (functions/page.sql), or undefined if a text contained the separator. Takes the contents
 * out of `row`: V8 may have moved the driver's dead result to its old generation, where it would keep the page until the
 * next full collection, and young collections would copy the page there too.
 */
export function decodePage(row: Row): RawMessage[] | undefined {
  const ids = decodeIds(row)
  const extras = decodeExtras(row)
  const payloads = decodePayloads(row, ids, extras)
  const stamps = decodeStamps(row)
  row.texts = row.payloads = row.extras = row.created = row.salts = null
  return (
    payloads &&
    ids.map((id, index) => new PageRow(id, payloads[index] ?? '', stamps(index), extras?.get(id) ?? NO_EXTRA))
  )
}

/**
 * A row of a page. Time, salt and transaction are kept once for the rows of one publish: the first two don't fit into
 * V8's small integers, so each row would have two more objects, and young collections copy all that groups share.
 */
class PageRow implements RawMessage {
  readonly id: number
  readonly payload: string | Uint8Array
  readonly #stamp: Stamp
  readonly #extra: Omit<Extra, 'id'>
  decoded: RawMessage['decoded']

  constructor(id: number, payload: string | Uint8Array, stamp: Stamp, extra: Omit<Extra, 'id'>) {
    this.id = id
    this.payload = payload
    this.#stamp = stamp
    this.#extra = extra
    this.decoded = undefined
  }

  get salt(): number {
    return this.#stamp.salt
  }

  get createdAt(): number {
    return this.#stamp.createdAt
  }

  get xid(): number {
    return this.#stamp.xid
  }

  get key(): string | null {
    return this.#extra.key
  }

  get type(): string | null {
    return this.#extra.type
  }

  get headers(): string | null {
    return this.#extra.headers
  }

  get messageId(): string | null {
    return this.#extra.messageId
  }
}

/** The stamp of each row by its index, which is asked for in order. Rows of one publish are adjacent. */
function decodeStamps(row: Row): (index: number) => Stamp {
  const created = row.created ? readColumn(row.created, readTimestamp) : undefined
  const xids = row.xids ? decodeXids(row) : undefined
  const salts = row.salts ? readColumn(row.salts, readInteger) : undefined
  const turn = row.turn ? Number(row.turn) : undefined
  const place = (index: number): number => (turn === undefined ? index : index < turn ? 0 : 1)
  let stamp = { salt: Number(row.salt), createdAt: Number(row.created_ms), xid: Number(row.xid) }
  return index => {
    const at = place(index)
    const salt = salts?.[at] ?? stamp.salt
    const createdAt = created?.[at] ?? stamp.createdAt
    const xid = xids?.[at] ?? stamp.xid
    if (salt !== stamp.salt || createdAt !== stamp.createdAt || xid !== stamp.xid) stamp = { salt, createdAt, xid }
    return stamp
  }
}

export function decodeIds({ ids, first_id, last_id }: Row): number[] {
  if (ids || !first_id) return readColumn(ids, readInteger)
  const first = Number(first_id)
  const all = new Array<number>(Number(last_id) - first + 1)
  for (let index = 0; index < all.length; index++) all[index] = first + index
  return all
}

/** Transaction ids of rows whose keys were read. */
export const decodeXids = (row: Row): number[] => readColumn(row.xids, readInteger)

function decodeExtras({ extras }: Row): Map<number, Extra> | undefined {
  return extras ? new Map(readColumn(extras, readExtra).map(extra => [extra.id, extra])) : undefined
}

/** JSON comes as text and everything else as bytes, each in row order; or all of it as bytes. */
function decodePayloads(row: Row, ids: readonly number[], extras: Map<number, Extra> | undefined) {
  const isText = (index: number) => (extras?.get(ids[index] ?? 0)?.type ?? null) === null
  const texts = row.texts?.split(SEPARATOR) ?? []
  if (texts.length === ids.length && !row.payloads) return texts
  let next = 0
  const readPayload = (buffer: Buffer, start: number, end: number) =>
    isText(next++) ? readText(buffer, start, end) : readBytes(buffer, start, end)
  if (texts.length === 0) return readColumn(row.payloads, readPayload)

  const bytes = readColumn(row.payloads, readBytes).values()
  const jsons = texts.values()
  if (texts.length !== ids.filter((_, index) => isText(index)).length) return undefined
  return ids.map((_, index) => (isText(index) ? jsons : bytes).next().value)
}

function readColumn<T>(hex: string | null | undefined, read: (buffer: Buffer, start: number, end: number) => T): T[] {
  return hex ? (readArray(hex, read) as T[]) : []
}

const readInteger = (buffer: Buffer, start: number): number =>
  buffer.readInt32BE(start) * 0x1_0000_0000 + buffer.readUInt32BE(start + 4)

const readTimestamp = (buffer: Buffer, start: number): number =>
  EPOCH_MS + Math.floor(readInteger(buffer, start) / 1_000)

/** A composite: the number of fields, then for each its type, its length (-1: null) and its bytes. */
function readExtra(buffer: Buffer, start: number): Extra {
  let at = start + 4
  const field = <T>(read: (buffer: Buffer, start: number, end: number) => T): T | null => {
    const length = buffer.readInt32BE(at + 4)
    at += 8
    if (length < 0) return null
    at += length
    return read(buffer, at - length, at)
  }
  return {
    id: field(readInteger) ?? 0,
    key: field(readText),
    type: field(readText),
    headers: field(readText),
    messageId: field(readText),
  }
}
