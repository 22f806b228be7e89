import type { ByteBounds } from '../byte-bounds.ts'
import type { DeadLetter, DeadLetterQuery, DeadLetters, LetterError, LetterErrorQuery } from '../dead-letters.ts'
import type { FailedAttempt, FailureRecord } from '../failure-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { fromHex } from './binary-array.ts'
import type { Database } from './database.ts'
import { discard, matching, redrive, undeliverable } from './redrive.ts'
import type { Row } from './row.ts'
import type { Transaction } from './transaction.ts'

/** The dead letters of one schema. */
export function postgresDeadLetters(database: Database): DeadLetters {
  return {
    list: (topic, query) => database.read({ topic }, tx => listDeadLetters(tx, topic, query)),
    errors: query => database.read(query.topic ? { topic: query.topic } : {}, tx => listErrors(tx, query)),
    find: (topic, id, bounds = {}) => database.read({ topic }, tx => findDeadLetter(tx, topic, id, bounds)),
    redrive: (topic, selection) => database.maintenance({ topic }, tx => redrive(tx, topic, selection)),
    undeliverable: (topic, selection) => database.maintenance({ topic }, tx => undeliverable(tx, topic, selection)),
    discard: (topic, selection) => database.maintenance({ topic }, tx => discard(tx, topic, selection)),
  }
}

const BYTES = 'octet_length(payload) + coalesce(octet_length(headers), 0) + coalesce(octet_length(key), 0)'

/** `$3`: the size up to which a letter comes with its payload; null: any size. */
const COLUMNS = `
  id, group_name, message_id, salt, floor(extract(epoch from created_at) * 1000) as created_at, key, type,
  given_message_id, attempts, error, history, floor(extract(epoch from dead_at) * 1000) as dead_at,
  case when ${BYTES} <= coalesce($1::bigint, ${BYTES}) then headers end as headers,
  case when ${BYTES} <= coalesce($1::bigint, ${BYTES}) then payload end as payload, ${BYTES} as bytes`

/** The text of a failed attempt is rarely longer than this; its exact length would require reading it. */
const HISTORY_BYTES = 2_200

/** The rows that fit, and always the first. Omitted contents take no room. */
const listText = (where: string): string => `
  select ${COLUMNS}
  from (
    select *, row_number() over w as place,
      sum(case when ${BYTES} <= coalesce($1::bigint, ${BYTES}) then ${BYTES} else 0 end + attempts * ${HISTORY_BYTES}) over w as total
    from (
      select *
      from tidemark.dead_letter as d
      where ${where}
      order by d.id
      limit $2
    ) as page
    window w as (order by id rows unbounded preceding)
  ) as counted
  where total <= coalesce($3::bigint, total) or place = 1
  order by id`
const FIND = `select ${COLUMNS} from tidemark.dead_letter where topic_id = $2 and id = $3`

async function listDeadLetters(tx: Transaction, topic: TopicRecord, query: DeadLetterQuery): Promise<DeadLetter[]> {
  const { limit, maxBytes, maxPayloadBytes } = query
  const { where, values } = matching(topic, query, [maxPayloadBytes ?? null, limit, maxBytes ?? null])
  const rows = await tx.query(tx.sql(listText(where)), values)
  return rows.map(toDeadLetter)
}

async function listErrors(
  tx: Transaction,
  { topic, beyond, newestFirst, ...selection }: LetterErrorQuery,
): Promise<LetterError[]> {
  const after = newestFirst ? undefined : (beyond ?? 0)
  const given = { ...selection, ...(after !== undefined && { after }) }
  const { where, values } = matching(topic, given, [newestFirst ? (beyond ?? Number.MAX_SAFE_INTEGER) : null])
  const text = `
    select d.id, (select t.name from tidemark.topic as t where t.id = d.topic_id) as topic, d.group_name, d.key, d.error,
      floor(extract(epoch from d.dead_at) * 1000) as dead_at
    from tidemark.dead_letter as d
    where ${where}${newestFirst ? ' and d.id < $1::bigint' : ' and $1::bigint is null'}
    order by d.id ${newestFirst ? 'desc' : 'asc'}
    limit ${Math.floor(selection.limit)}`
  const rows = await tx.query(tx.sql(text), values)
  return rows.map(row => ({
    id: Number(row.id),
    topic: row.topic ?? '',
    group: row.group_name ?? '',
    key: row.key ?? null,
    error: JSON.parse(row.error ?? '{}') as FailureRecord,
    deadAt: Number(row.dead_at),
  }))
}

async function findDeadLetter(
  tx: Transaction,
  topic: TopicRecord,
  id: number,
  { maxPayloadBytes }: ByteBounds,
): Promise<DeadLetter | undefined> {
  const [row] = await tx.query(tx.sql(FIND), [maxPayloadBytes ?? null, topic.id, id])
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
      ...(row.payload === null && { omittedBytes: Number(row.bytes) }),
    },
    attempts: Number(row.attempts),
    error: JSON.parse(row.error ?? '{}') as FailureRecord,
    history: JSON.parse(row.history ?? '[]') as FailedAttempt[],
    deadAt: Number(row.dead_at),
  }
}
