import type { OutgoingMessage, PublishedMessage } from '../log.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Row } from './row.ts'
import { sqlFile } from './sql-file.ts'
import { INSIDE, IS_INSIDE, MARK_TRANSACTION } from './transaction-guard.ts'

const ONE = sqlFile('./queries/publish-one.sql')
const MANY = sqlFile('./queries/publish.sql')
const CHECKED = sqlFile('./queries/publish-checked.sql')
const TRACKED = sqlFile('./queries/publish-tracked.sql')

/** The same input, as binary arrays and as one text that every library passes on unchanged: the salt, then JSON. */
export const ARRAYS = {
  given: '',
  inside: '',
  guard: '',
  salt: '$6::bigint',
  input: `select * from unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::text[])
  with ordinality as m (payload, key, type, headers, message_id, place)`,
}
const SALT_DIGITS = 16
/** The caller's library or connection knows that a transaction is open. */
export const KNOWN_TO_BE_OPEN = {
  given: 'given as materialized (select $1::text as text), ',
  inside: '',
  guard: `, '${INSIDE}' as guard`,
  salt: `(select left(text, ${SALT_DIGITS})::bigint from given)`,
  input: `select decode(m.payload, 'base64') as payload, m.key, m.type, m.headers, m.message_id, m.place
  from given cross join lateral rows from (
    json_to_recordset(substr(given.text, ${SALT_DIGITS + 1})::json) as (payload text, key text, type text, headers text, message_id text)
  ) with ordinality as m (payload, key, type, headers, message_id, place)`,
}
/** Outside a transaction nothing is drawn and nothing is stored. */
export const GUARDED = {
  ...KNOWN_TO_BE_OPEN,
  given: `${KNOWN_TO_BE_OPEN.given}guard as materialized (select ${IS_INSIDE} as inside), `,
  inside: ' from guard where guard.inside',
  guard: `, (select case when guard.inside then '${INSIDE}' else ${MARK_TRANSACTION} end from guard) as guard`,
}

/**
 * Evaluated once per statement. Nothing is stored if the topic's configuration has changed or, in a caller's database
 * that is not ours, if it is another topic with the same number.
 */
const IS_CURRENT =
  'exists (select from tidemark.topic as t where t.id = {topic} and t.uid = {uid} and t.config_version = {version})'
const IS_SUBSCRIBED = `
  exists (select from tidemark.subscription as s where s.topic_id = {topic} and s.status in ('ACTIVE', 'PAUSED'))`
/** Does not wait for a messageId that an open transaction has published: other publishes share the statement. */
export const SHORT_PATIENCE = ", set_config('lock_timeout', '50ms', true)"

/** The statement of a publish without messageIds. */
export const publishText = (topic: TopicRecord): string => fill(MANY, topic)

/** The same for a single message. */
export const publishOneText = (topic: TopicRecord): string => fill(ONE, topic)

/** The statement of a publish with messageIds, or inside a caller's transaction. */
export function checkedText(
  topic: TopicRecord,
  { given, inside, salt, input, guard }: typeof ARRAYS,
  patience = '',
): string {
  const { dedupeWindowMs } = topic.config
  // PostgreSQL 14 reads no more than 2^31 milliseconds, 25 days, from the text of an interval.
  const window =
    dedupeWindowMs === null ? 'null::interval' : `(${Math.floor(dedupeWindowMs)} * interval '1 millisecond')`
  const text = CHECKED.replace('{given}', given)
    .replace('{salt}', salt)
    .replace('{patience}', patience)
    .replace('{inside}', inside)
    .replace('{guard}', guard)
    .replace('{input}', `${input} where {condition}`)
    .replaceAll('{window}', window)
  return fill(text, topic)
}

/** The single parameter of a publish inside a caller's transaction. */
export const oneText = (salt: number, messages: readonly OutgoingMessage[]): string =>
  String(salt).padStart(SALT_DIGITS, '0') + toJson(messages)

function toJson(messages: readonly OutgoingMessage[]): string {
  return JSON.stringify(
    messages.map(({ payload, key, type, headers, messageId }) => ({
      payload: Buffer.from(payload as string).toString('base64'),
      key,
      type,
      headers,
      message_id: messageId,
    })),
  )
}

function fill(template: string, { id, uid, configVersion, config }: TopicRecord): string {
  const condition = config.blockPublishWithoutSubscription ? `${IS_CURRENT} and ${IS_SUBSCRIBED}` : IS_CURRENT
  return template
    .replace('{tracked}', config.tracking === 'reference' ? TRACKED : '')
    .replace('{returned}', config.tracking === 'reference' ? 'xid, id' : 'id')
    .replaceAll('{condition}', condition)
    .replaceAll('{topic}', String(id))
    .replaceAll('{uid}', String(uid))
    .replaceAll('{version}', String(configVersion))
}

/** null: nothing was stored. `count`: the number of messages. */
export function decodePublished([row]: Row[], salt: number, count: number): PublishedMessage[] | null {
  if (typeof row?.first === 'string' && typeof row.ids !== 'string') return inARow(Number(row.first), count, salt)
  if (typeof row?.ids !== 'string') return null
  const duplicates = row.duplicates?.split(',')
  return row.ids.split(',').map((id, index) => ({ id: Number(id), salt, duplicate: duplicates?.[index] === '1' }))
}

const inARow = (first: number, count: number, salt: number): PublishedMessage[] =>
  Array.from({ length: count }, (_, index) => ({ id: first + index, salt, duplicate: false }))
