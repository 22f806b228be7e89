import { type ByteBounds, UNBOUNDED } from '../byte-bounds.ts'
import type { DeadLetter, DeadLetterQuery, FailedAttempt, SubscriptionRecord, TopicRecord } from '../store.ts'
import { BOUNDED_COLUMNS, type BoundedRow, messageBytes, rowsWithin, toRawMessage } from './bounded-rows.ts'
import { type Connection, rowOf } from './connection.ts'
import { logTable } from './topics.ts'

/** Moves a message out of delivery, with its payload and its history; to be called in the settling transaction. */
export function buryMessage(
  connection: Connection,
  topicId: number,
  subscription: Pick<SubscriptionRecord, 'id' | 'group'>,
  {
    id,
    attempts,
    version,
    history,
  }: { id: number; attempts: number; version: number; history: readonly FailedAttempt[] },
): void {
  const last = history.at(-1)
  const error = { name: last?.name ?? 'Error', message: last?.message ?? '' }
  connection
    .prepare(`
      insert into tidemark_dead_letter (
        topic_id, subscription_id, group_name, log_id, salt, message_id, key, type, headers, payload, created_at,
        attempts, version, error, history, dead_at
      )
      select ?, ?, ?, id, salt, message_id, key, type, headers, payload, created_at, ?, ?, ?, ?, ?
      from ${logTable(topicId)}
      where id = ?`)
    .run(
      topicId,
      subscription.id,
      subscription.group,
      attempts,
      version,
      JSON.stringify(error),
      JSON.stringify(history),
      connection.now(),
      id,
    )
  connection.prepare('delete from tidemark_retry where subscription_id = ? and id = ?').run(subscription.id, id)
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

export function listDeadLetters(connection: Connection, topic: TopicRecord, query: DeadLetterQuery): DeadLetter[] {
  const { group, after = 0, limit, maxPayloadBytes = UNBOUNDED } = query
  // An index of its own for each: with one statement for both, all letters of the topic were sorted.
  const ofGroup = group === undefined ? '' : 'and group_name = ?'
  const statement = connection.prepare(`
    select ${COLUMNS} from tidemark_dead_letter where topic_id = ? ${ofGroup} and id > ? order by id limit ?`)
  const values = [maxPayloadBytes, topic.id, ...(group === undefined ? [] : [group]), after, limit]
  return rowsWithin<Row>(statement, values, query, letterBytes).rows.map(toDeadLetter)
}

export function findDeadLetter(
  connection: Connection,
  topic: TopicRecord,
  id: number,
  { maxPayloadBytes = UNBOUNDED }: ByteBounds,
): DeadLetter | undefined {
  const row = rowOf<Row>(
    connection.prepare(`select ${COLUMNS} from tidemark_dead_letter where topic_id = ? and id = ?`),
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
