import { DatabaseLockedError, PayloadError, type TidemarkError, TransactionError } from '../../errors.ts'
import { idOfMessageId } from '../../message-id.ts'
import type { OutgoingMessage, PublishedMessage, TopicRecord } from '../store.ts'
import { byteaArray, textArray } from './binary-array.ts'
import type { Database, Row } from './database.ts'
import { codeOf, mapError } from './database-errors.ts'
import type { Partitions } from './partitions.ts'
import { sqlFile } from './sql-file.ts'
import { findTopic } from './topics.ts'
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

/** Not in the caller's database: its topic of that number, if it has one, is another. */
const IS_THIS_TOPIC = 'where exists (select from tidemark.topic as t where t.id = {topic} and t.uid = {uid})'

const NO_PARTITION = '23514'
const NO_TABLE = '42P01'
const NO_SCHEMA = '3F000'
const NOT_TEXT = '22021'
const PARTITION_ATTEMPTS = 20

export class Publisher {
  readonly #database: Database
  readonly #partitions: Partitions
  readonly #plainTexts = new Map<string, string>()

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

  async #send(topic: TopicRecord, messages: readonly OutgoingMessage[], tx: unknown): Promise<PublishedMessage[]> {
    try {
      if (tx !== undefined) return await this.#inTransaction(topic, messages, tx)
      return await this.#insert(topic, messages)
    } catch (error) {
      throw explain(error, this.#database.location)
    }
  }

  /** A publish that found no partition stored nothing, so it can be tried again once there is one. */
  async #insert(topic: TopicRecord, messages: readonly OutgoingMessage[]): Promise<PublishedMessage[]> {
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

  #prepare(topic: TopicRecord, messages: readonly OutgoingMessage[]): () => Promise<PublishedMessage[]> {
    const values = [
      byteaArray(messages.map(message => message.payload)),
      textArray(messages.map(message => message.key)),
      textArray(messages.map(message => message.type)),
      textArray(messages.map(message => message.headers)),
    ]
    const messageIds = textArray(messages.map(message => message.messageId))
    if (!messageIds) {
      const name = `tidemark_publish_${topic.config.tracking}_${topic.id}`
      const text = this.#plain(topic, name)
      return async () => decodePublished(await this.#database.query(text, values, name))
    }
    const text = this.#checked(topic, ARRAYS)
    return async () => decodePublished(await this.#database.queryAgain(text, [...values, messageIds]))
  }

  async #inTransaction(
    topic: TopicRecord,
    messages: readonly OutgoingMessage[],
    tx: unknown,
  ): Promise<PublishedMessage[]> {
    await this.#partitions.ensureRoom(topic, messages.length)
    const text = this.#checked(topic, `${JSON_TEXT} ${IS_THIS_TOPIC}`)
    try {
      const rows = await runInTransaction(tx, text, toJson(messages))
      if (typeof rows[0]?.ids === 'string') return decodePublished(rows)
    } catch (error) {
      if (![NO_TABLE, NO_SCHEMA].includes(codeOf(error))) throw error
    }
    throw new TransactionError(
      `The tx given to publish is of another database: it doesn't know the topic '${topic.name}' at ${this.#database.location}`,
    )
  }

  #plain(topic: TopicRecord, name: string): string {
    let text = this.#plainTexts.get(name)
    if (text === undefined) {
      text = this.#database.sql(publishText(topic))
      this.#plainTexts.set(name, text)
    }
    return text
  }

  #checked(topic: TopicRecord, input: string): string {
    const { dedupeWindowMs } = topic.config
    const window = dedupeWindowMs === null ? 'null::interval' : `interval '${Math.floor(dedupeWindowMs)} milliseconds'`
    return this.#database.sql(
      withTracking(CHECKED.replace('{input}', input), topic)
        .replaceAll('{uid}', String(topic.uid))
        .replaceAll('{window}', window),
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
export const publishText = (topic: TopicRecord): string => withTracking(PLAIN, topic)

const withTracking = (text: string, { id, config }: TopicRecord): string =>
  text.replace('{tracked}', config.tracking === 'reference' ? TRACKED : '').replaceAll('{topic}', String(id))

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

function decodePublished([row]: Row[]): PublishedMessage[] {
  const duplicates = row?.duplicates?.split(',')
  return (row?.ids ?? '').split(',').map((id, index) => ({ id: Number(id), duplicate: duplicates?.[index] === '1' }))
}

function explain(error: unknown, location: string): TidemarkError {
  const cause = error instanceof Error && codeOf(error).length !== 5 ? error.cause : error
  if (codeOf(cause) === NOT_TEXT) {
    return new PayloadError(
      'The key, type, headers or messageId contain a NUL character, which PostgreSQL can not store. Remove it',
      cause,
    )
  }
  return mapError(error, location)
}
