import { type ByteBounds, UNBOUNDED } from '../byte-bounds.ts'
import type { DeadLetter, DeadLetterQuery, DeadLetters, LetterError, LetterErrorQuery } from '../dead-letters.ts'
import type { TopicRecord } from '../topic-record.ts'
import { BOUNDED_COLUMNS, type BoundedRow, messageBytes, rowsWithin, toRawMessage } from './bounded-rows.ts'
import type { Connection } from './connection.ts'
import { discard, matching, redrive, undeliverable } from './redrive.ts'
import { rowOf, rowsOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

/** The dead letters of one file. */
export function sqliteDeadLetters(connection: Connection): DeadLetters {
  return {
    list: (topic, query) => connection.read(tx => listDeadLetters(tx, topic, query), { topic }),
    errors: query => connection.read(tx => listErrors(tx, query), query.topic && { topic: query.topic }),
    find: (topic, id, bounds = {}) => connection.read(tx => findDeadLetter(tx, topic, id, bounds), { topic }),
    redrive: (topic, selection) => connection.write(true, tx => redrive(tx, topic, selection), { topic }),
    undeliverable: (topic, selection) => connection.read(tx => undeliverable(tx, topic, selection), { topic }),
    discard: (topic, selection) => connection.write(true, tx => discard(tx, topic, selection), { topic }),
  }
}

type Row = BoundedRow & {
  group_name: string
  log_id: number
  attempts: number
  error: string
  history: string
  dead_at: number
}

const COLUMNS = `id, group_name, log_id, attempts, error, history, dead_at, ${BOUNDED_COLUMNS}`

const letterBytes = (row: Row): number => messageBytes(row) + row.history.length

function listDeadLetters(tx: Transaction, topic: TopicRecord, query: DeadLetterQuery): DeadLetter[] {
  const { limit, maxPayloadBytes = UNBOUNDED } = query
  // Only the given conditions are part of the statement: with one statement for topic and group, all letters of the
  // topic were sorted.
  const { where, values } = matching(topic, query)
  const statement = tx.prepare(`select ${COLUMNS} from tidemark_dead_letter d where ${where} order by d.id limit ?`)
  return rowsWithin<Row>(statement, [maxPayloadBytes, ...values, limit], query, letterBytes).rows.map(toDeadLetter)
}

type ErrorRow = Omit<LetterError, 'error' | 'deadAt'> & { readonly error: string; readonly dead_at: number }

function listErrors(tx: Transaction, { topic, beyond, newestFirst, ...selection }: LetterErrorQuery): LetterError[] {
  const after = newestFirst ? undefined : (beyond ?? 0)
  const { where, values } = matching(topic, { ...selection, ...(after !== undefined && { after }) })
  // Always a bound, so that all are found by the primary key.
  const before = newestFirst ? ' and d.id < ?' : ''
  const rows = rowsOf<ErrorRow>(
    tx.prepare(`
      select d.id, (select t.name from tidemark_topic t where t.id = d.topic_id) as topic, d.group_name as "group", d.key,
        d.error, d.dead_at
      from tidemark_dead_letter d
      where ${where}${before}
      order by d.id ${newestFirst ? 'desc' : 'asc'}
      limit ?`),
    ...values,
    ...(newestFirst ? [beyond ?? Number.MAX_SAFE_INTEGER] : []),
    selection.limit,
  )
  return rows.map(({ error, dead_at, ...row }) => ({ ...row, error: JSON.parse(error), deadAt: dead_at }))
}

function findDeadLetter(
  tx: Transaction,
  topic: TopicRecord,
  id: number,
  { maxPayloadBytes = UNBOUNDED }: ByteBounds,
): DeadLetter | undefined {
  const row = rowOf<Row>(
    tx.prepare(`select ${COLUMNS} from tidemark_dead_letter where topic_id = ? and id = ?`),
    maxPayloadBytes,
    topic.id,
    id,
  )
  return row && toDeadLetter(row)
}

function toDeadLetter({ id, group_name, log_id, attempts, error, history, dead_at, ...row }: Row): DeadLetter {
  return {
    id,
    group: group_name,
    message: toRawMessage({ ...row, id: log_id }),
    attempts,
    error: JSON.parse(error),
    history: JSON.parse(history),
    deadAt: dead_at,
  }
}
