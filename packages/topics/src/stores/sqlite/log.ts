import type { StatementSync } from 'node:sqlite'
import type { RawMessage } from '../../raw-message.ts'
import type { RowCache } from '../../row-cache.ts'
import { type Connection, rowOf } from './connection.ts'
import { logTable } from './topics.ts'

type LogRow = [createdAt: number, payload: string | Uint8Array, extras: string | null, id: number]
type Extras = [key: string | null, type: string | null, headers: string | null, messageId: string | null]

// What few messages have travels in one column: a column less is a tenth of the time to read a page.
const COLUMNS = `
  created_at,
  payload,
  case when coalesce(key, type, headers, message_id) is not null then json_array(key, type, headers, message_id) end`

/**
 * The messages from `first` to `last`, in order; from the cache where it has them all. `lastExtraId`: those above are
 * known to have a payload and nothing else.
 */
export function readRange(
  connection: Connection,
  topicId: number,
  { first, last, lastExtraId = last }: { first: number; last: number; lastExtraId?: number },
  cache?: RowCache,
): RawMessage[] {
  const cached = cache?.range(first, last)
  if (cached) return cached
  const plain = first > lastExtraId ? readPlainPage(connection, topicId, first, last) : undefined
  const rows = plain ?? readPage(connection, topicId, first, last)
  if (cache) for (const row of rows) cache.put(row)
  return rows
}

/**
 * Payloads alone: every column costs. Messages that were stored together have one time, so a page mostly has one or
 * two; undefined where it has more, or where rows are missing.
 */
function readPlainPage(connection: Connection, topicId: number, first: number, last: number): RawMessage[] | undefined {
  const bounds = { first_id: first, next_id: last + 1 }
  const [firstAt, lastAt] = [createdAt(connection, topicId, first), createdAt(connection, topicId, last)]
  if (firstAt === undefined || lastAt === undefined) return undefined
  const turn = firstAt === lastAt ? first : firstIdSince(connection, { id: topicId }, bounds, firstAt + 1)
  if (createdAt(connection, topicId, turn) !== lastAt) return undefined
  const where = `from ${logTable(topicId)} where id between ? and ? order by id`
  const rows = arrays(connection.prepare(`select payload ${where}`)).all(first, last) as unknown as [LogRow[1]][]
  if (rows.length !== last - first + 1) return undefined
  return rows.map((row, index) => {
    const id = first + index
    const at = id < turn ? firstAt : lastAt
    return new PlainMessage(id, at, row[0])
  })
}

/** Nearly every message: what it has not is told by its class, and takes no room in a page of them. */
class PlainMessage implements RawMessage {
  declare readonly key: null
  declare readonly type: null
  declare readonly headers: null
  declare readonly messageId: null
  decoded: RawMessage['decoded']
  readonly id: number
  readonly createdAt: number
  readonly payload: string | Uint8Array

  constructor(id: number, createdAt: number, payload: string | Uint8Array) {
    this.id = id
    this.createdAt = createdAt
    this.payload = payload
    this.decoded = undefined
  }
}

Object.assign(PlainMessage.prototype, { key: null, type: null, headers: null, messageId: null })

export const createdAt = (connection: Connection, topicId: number, id: number): number | undefined =>
  rowOf<{ created_at: number }>(connection.prepare(`select created_at from ${logTable(topicId)} where id = ?`), id)
    ?.created_at

/** Ids have no gaps, so they need not be read; but for a log that somebody deleted from. */
function readPage(connection: Connection, topicId: number, first: number, last: number): RawMessage[] {
  const where = `from ${logTable(topicId)} where id between ? and ? order by id`
  const rows = arrays(connection.prepare(`select ${COLUMNS} ${where}`)).all(first, last) as unknown as LogRow[]
  if (rows.length === last - first + 1) return rows.map((row, index) => toMessage(row, first + index))
  const withIds = arrays(connection.prepare(`select ${COLUMNS}, id ${where}`)).all(first, last) as unknown as LogRow[]
  return withIds.map(row => toMessage(row, row[3]))
}

export function readOne(connection: Connection, topicId: number, id: number): RawMessage | undefined {
  return readPage(connection, topicId, id, id)[0]
}

/** Ids from the first that is kept to the next that will be given. */
export type Bounds = { first_id: number; next_id: number }

/** created_at never goes back within a topic, so bisection finds the place with a few look-ups. */
export function firstIdSince(
  connection: Connection,
  topic: { readonly id: number },
  bounds: Bounds,
  timestamp: number,
): number {
  const createdAt = connection.prepare(`select created_at from ${logTable(topic.id)} where id = ?`)
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
function arrays(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true)
  return statement
}

const NO_EXTRAS: Extras = [null, null, null, null]

function toMessage([createdAt, payload, extras]: LogRow, id: number): RawMessage {
  const [key, type, headers, messageId] = extras === null ? NO_EXTRAS : (JSON.parse(extras) as Extras)
  return { id, createdAt, key, type, headers, messageId, payload }
}
