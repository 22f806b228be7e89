import { type ByteBounds, UNBOUNDED } from '../byte-bounds.ts'
import type { DeadLetter, DeadLetterQuery, DeadLetters } from '../dead-letters.ts'
import type { TopicRecord } from '../topic-record.ts'
import { BOUNDED_COLUMNS, type BoundedRow, messageBytes, rowsWithin, toRawMessage } from './bounded-rows.ts'
import type { Connection } from './connection.ts'
import { discard, redrive, undeliverable } from './redrive.ts'
import { rowOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

/** The dead letters of one file. */
export function sqliteDeadLetters(connection: Connection): DeadLetters {
  return {
    list: (topic, query) => connection.read(tx => listDeadLetters(tx, topic, query), { topic }),
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
  const { group, after = 0, limit, maxPayloadBytes = UNBOUNDED } = query
  // Two statements, so that each uses its own index: a single one sorted all dead letters of the topic.
  const ofGroup = group === undefined ? '' : 'and group_name = ?'
  const statement = tx.prepare(`
    select ${COLUMNS} from tidemark_dead_letter where topic_id = ? ${ofGroup} and id > ? order by id limit ?`)
  const values = [maxPayloadBytes, topic.id, ...(group === undefined ? [] : [group]), after, limit]
  return rowsWithin<Row>(statement, values, query, letterBytes).rows.map(toDeadLetter)
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
