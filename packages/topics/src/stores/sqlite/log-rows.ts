import { isSameRow, type RawMessage } from '../../payload/raw-message.ts'
import type { RowCache } from '../row-cache.ts'
import type { SqliteStatement } from './driver.ts'
import { requiredRow, rowOf } from './rows.ts'
import { logTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

type LogRow = [createdAt: number, salt: number, payload: string | Uint8Array, extras?: string | null, id?: number]
type Extras = [key: string | null, type: string | null, headers: string | null, messageId: string | null]

// Columns that few messages have are packed into one: each column takes a tenth of the time to read a page.
const PLAIN_COLUMNS = 'created_at, salt, payload'
const COLUMNS = `
  ${PLAIN_COLUMNS},
  case when coalesce(key, type, headers, message_id) is not null then json_array(key, type, headers, message_id) end`

/**
 * The messages from `first` to `last`, in order; from the cache if it has them all. `lastExtraId`: messages above it
 * are known to have only a payload. Call it as one reader, so that what is checked is what is read.
 */
export function readRange(
  tx: Transaction,
  topicId: number,
  { first, last, lastExtraId = last }: { first: number; last: number; lastExtraId?: number },
  cache?: RowCache,
): RawMessage[] {
  if (cache && !isStillThere(tx, topicId, cache.newest)) cache.clear()
  const cached = cache?.range(first, last)
  if (cached) return cached
  const rows = first > lastExtraId ? readPlainPage(tx, topicId, first, last) : readPage(tx, topicId, first, last)
  return cache ? rows.map(row => cache.put(row)) : rows
}

/**
 * A file restored under this process reuses ids. But ids follow commit order: if the log still has the newest cached
 * row as it was read, it also has all rows cached before it.
 */
function isStillThere(tx: Transaction, topicId: number, newest: RawMessage | undefined): boolean {
  if (newest === undefined) return true
  const row = readOne(tx, topicId, newest.id)
  return row !== undefined && isSameRow(row, newest)
}

/**
 * Messages that have only a payload. Every column costs time, and messages of one publish are adjacent and share one
 * time and one salt. So for a page of one or two publishes only the payloads are read.
 */
function readPlainPage(tx: Transaction, topicId: number, first: number, last: number): RawMessage[] {
  const [start, end] = [stampOf(tx, topicId, first), stampOf(tx, topicId, last)]
  const turn = start && end && turnOf(tx, topicId, { first, last, start, end })
  if (start === undefined || end === undefined || turn === undefined)
    return readPage(tx, topicId, first, last, PLAIN_COLUMNS)
  const where = `from ${logTable(topicId)} where id between ? and ? order by id`
  const rows = arrays(tx.prepare(`select payload ${where}`)).all(first, last) as unknown as [LogRow[2]][]
  if (rows.length !== last - first + 1) return readPage(tx, topicId, first, last, PLAIN_COLUMNS)
  return rows.map((row, index) => {
    const id = first + index
    return new PlainMessage(id, id < turn ? start : end, row[0])
  })
}

/** Values that all messages of one publish share. */
type Stamp = { readonly createdAt: number; readonly salt: number }

const stampOf = (tx: Transaction, topicId: number, id: number): Stamp | undefined =>
  rowOf<Stamp>(tx.prepare(`select created_at as createdAt, salt from ${logTable(topicId)} where id = ?`), id)

type Page = { readonly first: number; readonly last: number; readonly start: Stamp; readonly end: Stamp }

/**
 * The first id of the publish that ends the page; undefined if there is a third publish in between. Bisected inside one
 * statement: ten of them took twice as long. The casts are needed because numbers are bound as floats, which have halves.
 */
function turnOf(tx: Transaction, topicId: number, { first, last, start, end }: Page): number | undefined {
  if (start.salt === end.salt) return first
  const bisect = tx.prepare(`
    with recursive half(low, high) as (
      select cast(?1 as integer), cast(?2 as integer)
      union all
      select iif(l.salt = ?3, l.id, low), iif(l.salt = ?3, high, l.id)
      from half
      cross join ${logTable(topicId)} l on l.id = (low + high) / 2
      where high - low > 1 and l.salt in (?3, ?4)
    )
    select high from half where high - low = 1`)
  return rowOf<{ high: number }>(bisect, first, last, start.salt, end.salt)?.high
}

/**
 * Nearly every message. The missing fields are on the class, so they take no memory in a page of messages. The messages
 * of a publish share their stamp: V8 would allocate each of its two large numbers anew for every message. With a private
 * field a group drained a tenth slower.
 */
class PlainMessage implements RawMessage {
  declare readonly key: null
  declare readonly type: null
  declare readonly headers: null
  declare readonly messageId: null
  decoded: RawMessage['decoded']
  readonly id: number
  readonly payload: string | Uint8Array
  readonly stamp: Stamp

  constructor(id: number, stamp: Stamp, payload: string | Uint8Array) {
    this.id = id
    this.payload = payload
    this.decoded = undefined
    this.stamp = stamp
  }

  get createdAt(): number {
    return this.stamp.createdAt
  }

  get salt(): number {
    return this.stamp.salt
  }
}

Object.assign(PlainMessage.prototype, { key: null, type: null, headers: null, messageId: null })

export const createdAt = (tx: Transaction, topicId: number, id: number): number | undefined =>
  rowOf<{ created_at: number }>(tx.prepare(`select created_at from ${logTable(topicId)} where id = ?`), id)?.created_at

/** When the message began to wait, in terms of the current clock; null if it is gone. */
export function waitingSince(tx: Transaction, topicId: number, id: number): number | null {
  const at = createdAt(tx, topicId, id)
  return at === undefined ? null : tx.asOfNow(at)
}

/** Ids have no gaps, so they need not be read, unless somebody deleted rows from the log. */
function readPage(tx: Transaction, topicId: number, first: number, last: number, columns = COLUMNS): RawMessage[] {
  const where = `from ${logTable(topicId)} where id between ? and ? order by id`
  const rows = arrays(tx.prepare(`select ${columns} ${where}`)).all(first, last) as unknown as LogRow[]
  if (rows.length === last - first + 1) return rows.map((row, index) => toMessage(row, first + index))
  const withIds = arrays(tx.prepare(`select ${COLUMNS}, id ${where}`)).all(first, last) as unknown as LogRow[]
  return withIds.map(row => toMessage(row, row[4] ?? first))
}

export function readOne(tx: Transaction, topicId: number, id: number): RawMessage | undefined {
  return readPage(tx, topicId, id, id)[0]
}

/** Ids from the first retained one to the next to be assigned. */
export type Bounds = { first_id: number; next_id: number }

export const boundsOf = (tx: Transaction, topic: { readonly id: number }): Bounds & { config_version: number } =>
  requiredRow(tx.prepare('select first_id, next_id, config_version from tidemark_topic where id = ?'), topic.id)

/** created_at never decreases within a topic, so bisection finds the place with a few lookups. */
export function firstIdSince(
  tx: Transaction,
  topic: { readonly id: number },
  bounds: Bounds,
  timestamp: number,
): number {
  const createdAt = tx.prepare(`select created_at from ${logTable(topic.id)} where id = ?`)
  let low = bounds.first_id
  let high = bounds.next_id
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = rowOf<{ created_at: number }>(createdAt, middle)
    if (row !== undefined && row.created_at >= timestamp) high = middle
    else low = middle + 1
  }
  return low
}

/** Rows as arrays are read about twice as fast as rows as objects. */
function arrays(statement: SqliteStatement): SqliteStatement {
  statement.setReturnArrays(true)
  return statement
}

function toMessage([createdAt, salt, payload, extras]: LogRow, id: number): RawMessage {
  if (extras === null || extras === undefined) return new PlainMessage(id, { createdAt, salt }, payload)
  const [key, type, headers, messageId] = JSON.parse(extras) as Extras
  return { id, createdAt, salt, key, type, headers, messageId, payload }
}
