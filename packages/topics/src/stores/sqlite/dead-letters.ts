import type { RawMessage } from '../../raw-message.ts'
import type { DeadLetter, DeadLetterQuery, FailedAttempt, SubscriptionRecord, TopicRecord } from '../store.ts'
import { type Connection, rowOf, rowsOf } from './connection.ts'
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

type Row = Omit<RawMessage, 'id' | 'messageId' | 'createdAt'> & {
  id: number
  group_name: string
  log_id: number
  message_id: string | null
  created_at: number
  attempts: number
  error: string
  history: string
  dead_at: number
}

export function listDeadLetters(connection: Connection, topic: TopicRecord, query: DeadLetterQuery): DeadLetter[] {
  const { group, after = 0, limit } = query
  // An index of its own for each: with one statement for both, all letters of the topic were sorted.
  const ofGroup = group === undefined ? '' : 'and group_name = ?'
  return rowsOf<Row>(
    connection.prepare(`
      select * from tidemark_dead_letter where topic_id = ? ${ofGroup} and id > ? order by id limit ?`),
    topic.id,
    ...(group === undefined ? [] : [group]),
    after,
    limit,
  ).map(toDeadLetter)
}

export function findDeadLetter(connection: Connection, topic: TopicRecord, id: number): DeadLetter | undefined {
  const row = rowOf<Row>(
    connection.prepare('select * from tidemark_dead_letter where topic_id = ? and id = ?'),
    topic.id,
    id,
  )
  return row && toDeadLetter(row)
}

const toDeadLetter = (row: Row): DeadLetter => ({
  id: row.id,
  group: row.group_name,
  message: {
    id: row.log_id,
    salt: row.salt,
    payload: row.payload,
    type: row.type,
    key: row.key,
    headers: row.headers,
    messageId: row.message_id,
    createdAt: row.created_at,
  },
  attempts: row.attempts,
  error: JSON.parse(row.error),
  history: JSON.parse(row.history),
  deadAt: row.dead_at,
})
