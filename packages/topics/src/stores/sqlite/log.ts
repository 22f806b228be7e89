import type { StatementSync } from 'node:sqlite'
import type { RawMessage } from '../../raw-message.ts'
import type { RowCache } from '../../row-cache.ts'
import type { Connection } from './connection.ts'
import { logTable } from './topics.ts'

type LogRow = [
  id: number,
  createdAt: number,
  key: string | null,
  type: string | null,
  headers: string | null,
  messageId: string | null,
  payload: string | Uint8Array,
]

const COLUMNS = 'id, created_at, key, type, headers, message_id, payload'

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
  const statement = arrays(
    connection.prepare(`select ${COLUMNS} from ${logTable(topicId)} where id between ? and ? order by id`),
  )
  const rows = (statement.all(first, last) as unknown as LogRow[]).map(toMessage)
  if (cache) for (const row of rows) cache.put(row)
  return rows
}

export function readOne(connection: Connection, topicId: number, id: number): RawMessage | undefined {
  const statement = arrays(connection.prepare(`select ${COLUMNS} from ${logTable(topicId)} where id = ?`))
  const row = statement.get(id) as unknown as LogRow | undefined
  return row && toMessage(row)
}

/** Rows as arrays are read about twice as fast as rows as objects. */
function arrays(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true)
  return statement
}

const toMessage = ([id, createdAt, key, type, headers, messageId, payload]: LogRow): RawMessage => ({
  id,
  createdAt,
  key,
  type,
  headers,
  messageId,
  payload,
})
