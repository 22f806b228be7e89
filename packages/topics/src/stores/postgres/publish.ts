import {
  DatabaseLockedError,
  NoSubscriptionsError,
  PayloadError,
  type TidemarkError,
  TopicConflictError,
  TopicNotFoundError,
  TransactionError,
} from '../../errors.ts'
import { idOfMessageId } from '../../message-id.ts'
import { checkSize, isPlain } from '../../payload/outgoing.ts'
import type { OutgoingMessage, PublishedMessage, TopicRecord } from '../store.ts'
import { byteaArray, textArray } from './binary-array.ts'
import type { Database, Row } from './database.ts'
import { codeOf, mapError } from './database-errors.ts'
import type { Partitions } from './partitions.ts'
import { sqlFile } from './sql-file.ts'
import { findTopic, TOPIC_COLUMNS, type TopicRow, toRecord } from './topics.ts'
import { runInTransaction } from './transaction.ts'

const PLAIN = sqlFile('./queries/publish.sql')
const CHECKED = sqlFile('./queries/publish-checked.sql')
const TRACKED = sqlFile('./queries/publish-tracked.sql')

/** The same input, from binary arrays and from one JSON text, which every library passes on alike. */
const ARRAYS = `select * from unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::text[])
  with ordinality as m (payload, key, type, headers, message_id, place)`
const JSON_TEXT = `select decode(payload, 'base64') as payload, key, type, headers, message_id, place
  from rows from (json_to_recordset($1::text::json) as (payload text, key text, type text, headers text, message_id text))
  with ordinality as m (payload, key, type, headers, message_id, place)`

/**
 * Looked up once a statement. Nothing is stored where the topic has been configured anew, or, in a caller's database that
 * is not ours, is another of the same number.
 */
const IS_CURRENT =
  'exists (select from tidemark.topic as t where t.id = {topic} and t.uid = {uid} and t.config_version = {version})'
const IS_SUBSCRIBED = `
  exists (select from tidemark.subscription as s where s.topic_id = {topic} and s.status in ('ACTIVE', 'PAUSED'))`
const FIND_TOPIC = `select ${TOPIC_COLUMNS} from tidemark.topic where id = $1::text::int`

const NO_PARTITION = '23514'
const NO_TABLE = '42P01'
const NO_SCHEMA = '3F000'
const NOT_TEXT = '22021'
const PARTITION_ATTEMPTS = 20
/** How often a topic may be configured anew under one publish. */
const CONFIG_ATTEMPTS = 200

export class Publisher {
  readonly #database: Database
  readonly #partitions: Partitions
  readonly #plainTexts = new Map<number, { version: number; text: string }>()

  constructor(database: Database, partitions: Partitions) {
    this.#database = database
    this.#partitions = partitions
  }

  async publish(topic: TopicRecord, messages: readonly OutgoingMessage[], tx?: unknown): Promise<PublishedMessage[]> {
    if (messages.length === 0) return []
    const known = await this.#findDerived(topic, messages, tx)
    if (known.size === 0) return await this.#store(topic, messages, tx)
    const rest = messages.filter((_, index) => !known.has(index))
    const stored = (await this.#store(topic, rest, tx)).values()
    return messages.map((_, index) => known.get(index) ?? stored.next().value ?? { id: 0, duplicate: false })
  }

  async #store(topic: TopicRecord, messages: readonly OutgoingMessage[], tx: unknown): Promise<PublishedMessage[]> {
    if (messages.length === 0) return []
    const published = await this.#send(topic, messages, tx)
    const last = published.reduce((highest, { id }) => Math.max(highest, id), 0)
    this.#partitions.makeAhead(topic, last)
    return published
  }

  /** A statement made for a configuration that is no longer the topic's stores nothing, and is made again. */
  async #send(known: TopicRecord, messages: readonly OutgoingMessage[], tx: unknown): Promise<PublishedMessage[]> {
    try {
      let topic = known
      for (let attempt = 1; ; attempt++) {
        const published =
          tx === undefined ? await this.#insert(topic, messages) : await this.#inTransaction(topic, messages, tx)
        if (published !== null) return published
        const current = await this.#current(topic, tx)
        if (current.configVersion === topic.configVersion && current.config.blockPublishWithoutSubscription) {
          throw new NoSubscriptionsError(topic.name)
        }
        if (attempt === CONFIG_ATTEMPTS)
          throw new TopicConflictError(topic.name, `Topic '${topic.name}' keeps changing`)
        for (const message of messages) checkSize(current, message)
        topic = current
      }
    } catch (error) {
      throw explain(error, known, this.#database.location)
    }
  }

  /** As the publishing transaction sees it. */
  async #current(topic: TopicRecord, tx: unknown): Promise<TopicRecord> {
    const text = this.#database.sql(FIND_TOPIC)
    const id = String(topic.id)
    const [row] = tx === undefined ? await this.#database.query(text, [id]) : await runInTransaction(tx, text, id)
    const current = row && toRecord(row as TopicRow)
    if (current?.uid === topic.uid) return current
    if (tx === undefined) throw new TopicNotFoundError(topic.name)
    throw this.#otherDatabase(topic)
  }

  /** A publish that found no partition stored nothing, so it can be tried again once there is one. */
  async #insert(topic: TopicRecord, messages: readonly OutgoingMessage[]): Promise<PublishedMessage[] | null> {
    let insert = this.#prepare(topic, messages)
    for (let attempt = 1; ; attempt++) {
      try {
        return await insert()
      } catch (error) {
        const code = error instanceof Error ? codeOf(error.cause) : ''
        const latest = code === NO_TABLE ? await findTopic(this.#database, topic.name) : undefined
        // Its bitmaps went while it waited for them: the topic is tracked by offset now.
        if (latest && latest.config.tracking !== topic.config.tracking) insert = this.#prepare(latest, messages)
        else if (code !== NO_PARTITION || attempt === PARTITION_ATTEMPTS) throw error
        await this.#partitions.makeForNext(topic, messages.length * attempt).catch(ignoreLocked)
      }
    }
  }

  #prepare(topic: TopicRecord, messages: readonly OutgoingMessage[]): () => Promise<PublishedMessage[] | null> {
    const payloads = byteaArray(messages.map(message => message.payload))
    const [messageIds, ...texts] = messages.every(isPlain)
      ? [null, null, null, null]
      : [
          textArray(messages.map(message => message.messageId)),
          textArray(messages.map(message => message.key)),
          textArray(messages.map(message => message.type)),
          textArray(messages.map(message => message.headers)),
        ]
    const values = [payloads, ...texts]
    if (!messageIds) {
      const text = this.#plain(topic)
      return async () =>
        decodePublished(await this.#database.query(text, values, `tidemark_publish_${topic.id}_${topic.configVersion}`))
    }
    const text = this.#checked(topic, `${ARRAYS} where {condition}`)
    return async () => decodePublished(await this.#database.queryAgain(text, [...values, messageIds]))
  }

  async #inTransaction(
    topic: TopicRecord,
    messages: readonly OutgoingMessage[],
    tx: unknown,
  ): Promise<PublishedMessage[] | null> {
    await this.#partitions.ensureRoom(topic, messages.length)
    const text = this.#checked(topic, `${JSON_TEXT} where {condition}`)
    try {
      return decodePublished(await runInTransaction(tx, text, toJson(messages)))
    } catch (error) {
      if (![NO_TABLE, NO_SCHEMA].includes(codeOf(error))) throw error
      throw this.#otherDatabase(topic)
    }
  }

  #plain(topic: TopicRecord): string {
    const known = this.#plainTexts.get(topic.id)
    if (known?.version === topic.configVersion) return known.text
    const text = this.#database.sql(publishText(topic))
    this.#plainTexts.set(topic.id, { version: topic.configVersion, text })
    return text
  }

  #checked(topic: TopicRecord, input: string): string {
    const { dedupeWindowMs } = topic.config
    const window = dedupeWindowMs === null ? 'null::interval' : `interval '${Math.floor(dedupeWindowMs)} milliseconds'`
    return this.#database.sql(fill(CHECKED.replace('{input}', input).replaceAll('{window}', window), topic))
  }

  #otherDatabase({ name }: TopicRecord): TransactionError {
    return new TransactionError(
      `The tx given to publish is of another database: it doesn't know the topic '${name}' at ${this.#database.location}`,
    )
  }

  /** A caller may repeat a messageId that Tidemark made itself: the message is there already. */
  async #findDerived(topic: TopicRecord, messages: readonly OutgoingMessage[], tx: unknown) {
    const candidates = new Map<number, number>()
    for (const [index, { messageId }] of messages.entries()) {
      const id = messageId === null ? undefined : idOfMessageId(topic.uid, messageId)
      if (id !== undefined) candidates.set(index, id)
    }
    const found = new Map<number, PublishedMessage>()
    if (candidates.size === 0) return found
    const text = this.#database.sql(
      `select id::text as id from tidemark.log_${topic.id} where id = any (string_to_array($1::text, ',')::bigint[])`,
    )
    const parameter = [...candidates.values()].join(',')
    const rows =
      tx !== undefined ? await runInTransaction(tx, text, parameter) : await this.#database.query(text, [parameter])
    const stored = new Set(rows.map(row => Number(row.id)))
    for (const [index, id] of candidates) if (stored.has(id)) found.set(index, { id, duplicate: true })
    return found
  }
}

/** The statement of a plain publish. */
export const publishText = (topic: TopicRecord): string => fill(PLAIN, topic)

/** Someone holds the log's lock, an ANALYZE perhaps. The publish finds out whether there is a partition now. */
function ignoreLocked(error: unknown): void {
  if (!(error instanceof DatabaseLockedError)) throw error
}

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

/** null: nothing was stored. */
function decodePublished([row]: Row[]): PublishedMessage[] | null {
  if (typeof row?.first === 'string' && row.ids === null) return inARow(Number(row.first), Number(row.count))
  if (typeof row?.ids !== 'string') return null
  const duplicates = row.duplicates?.split(',')
  return row.ids.split(',').map((id, index) => ({ id: Number(id), duplicate: duplicates?.[index] === '1' }))
}

const inARow = (first: number, count: number): PublishedMessage[] =>
  Array.from({ length: count }, (_, index) => ({ id: first + index, duplicate: false }))

function explain(error: unknown, topic: TopicRecord, location: string): TidemarkError {
  const cause = error instanceof Error && codeOf(error).length !== 5 ? error.cause : error
  if (codeOf(cause) === NO_TABLE) return new TopicNotFoundError(topic.name)
  if (codeOf(cause) === NOT_TEXT) {
    return new PayloadError(
      'The key, type, headers or messageId contain a NUL character, which PostgreSQL can not store. Remove it',
      cause,
    )
  }
  return mapError(error, location)
}
