import type { StatementSync } from 'node:sqlite'
import type { RawMessage } from '../../raw-message.ts'
import type { RowCache } from '../../row-cache.ts'
import type { Connection } from './connection.ts'
import { logTable } from './topics.ts'

type LogRow = [createdAt: number, payload: string | Uint8Array, extras: string | null, id: number]
type Extras = [key: string | null, type: string | null, headers: string | null, messageId: string | null]

// What few messages have travels in one column: a column less is a tenth of the time to read a page.
const COLUMNS = `
  created_at,
  payload,
  case when coalesce(key, type, headers, message_id) is not null then json_array(key, type, headers, message_id) end`

/** The messages from `first` to `last`, in order; from the cache where it has them all. */
export function readRange(
  connection: Connection,
  topicId: number,
  first: number,
  last: number,
  cache: RowCache | undefined,
): RawMessage[] {
  const cached = cache?.range(first, last)
  if (cached) return cached
  const rows = readPage(connection, topicId, first, last)
  if (cache) for (const row of rows) cache.put(row)
  return rows
}

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
