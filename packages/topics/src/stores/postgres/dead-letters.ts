import type { DeadLetter, DeadLetterQuery, FailedAttempt, FailureRecord, TopicRecord } from '../store.ts'
import { fromHex } from './binary-array.ts'
import type { Database, Row } from './database.ts'

const COLUMNS = `
  id, group_name, message_id, salt, floor(extract(epoch from created_at) * 1000) as created_at, key, type, headers,
  given_message_id, payload, attempts, error, history, floor(extract(epoch from dead_at) * 1000) as dead_at`
const LIST = `
  select ${COLUMNS}
  from tidemark.dead_letter
  where topic_id = $1 and id > $2 and ($3::text is null or group_name = $3)
  order by id
  limit $4`
const FIND = `select ${COLUMNS} from tidemark.dead_letter where topic_id = $1 and id = $2`

export async function listDeadLetters(
  database: Database,
  topic: TopicRecord,
  { group, after = 0, limit }: DeadLetterQuery,
): Promise<DeadLetter[]> {
  const rows = await database.query(database.sql(LIST), [topic.id, after, group ?? null, limit])
  return rows.map(toDeadLetter)
}

export async function findDeadLetter(
  database: Database,
  topic: TopicRecord,
  id: number,
): Promise<DeadLetter | undefined> {
  const [row] = await database.query(database.sql(FIND), [topic.id, id])
  return row && toDeadLetter(row)
}

function toDeadLetter(row: Row): DeadLetter {
  const bytes = fromHex(row.payload ?? '\\x')
  const type = row.type ?? null
  return {
    id: Number(row.id),
    group: row.group_name ?? '',
    message: {
      id: Number(row.message_id),
      salt: Number(row.salt),
      payload: type === null ? bytes.toString('utf8') : new Uint8Array(bytes),
      type,
      key: row.key ?? null,
      headers: row.headers ?? null,
      messageId: row.given_message_id ?? null,
      createdAt: Number(row.created_at),
    },
    attempts: Number(row.attempts),
    error: JSON.parse(row.error ?? '{}') as FailureRecord,
    history: JSON.parse(row.history ?? '[]') as FailedAttempt[],
    deadAt: Number(row.dead_at),
  }
}
