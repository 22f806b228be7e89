import {
  DatabaseError,
  DatabaseLockedError,
  MessageIdPendingError,
  NoSubscriptionsError,
  OutcomeUnknownError,
  PayloadError,
  type TidemarkError,
  TopicConflictError,
  TopicNotFoundError,
  TransactionError,
} from '../../errors.ts'
import { type DerivedId, parseMessageId } from '../../payload/message-id.ts'
import { random52 } from '../../payload/random-bits.ts'
import { checkSize } from '../../publish/outgoing.ts'
import type { OutgoingMessage, PublishedMessage } from '../log.ts'
import type { TopicRecord } from '../topic-record.ts'
import { CallerTransaction } from './caller-transaction.ts'
import type { Database } from './database.ts'
import { codeOf, FunctionsRestoredError, mapError, unknownIfLost } from './database-errors.ts'
import type { Partitions } from './partitions.ts'
import { formatFor, type PlainStatement, plainStatements, plainValues } from './plain-publish.ts'
import {
  ARRAYS,
  checkedText,
  decodePublished,
  GUARDED,
  KNOWN_TO_BE_OPEN,
  oneText,
  SHORT_PATIENCE,
} from './publish-statements.ts'
import type { Row } from './row.ts'
import { findTopic, TOPIC_COLUMNS, type TopicRow, toRecord } from './topics.ts'
import { IS_INSIDE, MARK_TRANSACTION } from './transaction-guard.ts'

const HOLD_TRACKING = `select tidemark_fn.hold_tracking($1::text::int) as held, ${MARK_TRANSACTION} as marked`
const FORGET = `
  delete from tidemark.dedupe
  where {inside} and topic_id = {topic} and message_id in (select json_array_elements_text($1::text::json))`
const FIND_TOPIC = `select ${TOPIC_COLUMNS} from tidemark.topic where id = $1::text::int`

/** Identifies the table across databases and servers; null: there is no such table. */
const IDENTIFY = `
  select to_regclass($1::text)::oid::text || ' ' || current_database() || ' ' ||
    extract(epoch from pg_postmaster_start_time()) as identity`

const NO_PARTITION = '23514'
const NO_TABLE = '42P01'
const NO_SCHEMA = '3F000'
const NO_FUNCTION = '42883'
const NO_LOCK = '55P03'
const NOT_TEXT = '22021'
const PARTITION_ATTEMPTS = 20
/** How often a topic's configuration may change during one publish. */
const CONFIG_ATTEMPTS = 200

type Caller = CallerTransaction | undefined

export class LogWriter {
  readonly #database: Database
  readonly #partitions: Partitions
  /** By the topic's uid. */
  readonly #plainStatements = new Map<number, { version: number; one: PlainStatement; many: PlainStatement }>()

  constructor(database: Database, partitions: Partitions) {
    this.#database = database
    this.#partitions = partitions
  }

  publish(topic: TopicRecord, messages: readonly OutgoingMessage[], tx?: unknown): Promise<PublishedMessage[]> {
    // Nearly every publish: nothing can have been stored before.
    const isNew = tx === undefined && messages.every(({ messageId }) => messageId === null)
    return isNew ? this.#store(topic, messages, undefined) : this.#publishOnce(topic, messages, tx)
  }

  async #publishOnce(
    topic: TopicRecord,
    messages: readonly OutgoingMessage[],
    tx: unknown,
  ): Promise<PublishedMessage[]> {
    if (messages.length === 0) return []
    const caller = tx === undefined ? undefined : new CallerTransaction(tx, this.#database)
    const known = await this.#findDerived(topic, messages, caller)
    const rest = known.size === 0 ? messages : messages.filter((_, index) => !known.has(index))
    const published = await this.#completed(topic, rest, await this.#store(topic, rest, caller), caller)
    if (known.size === 0) return published
    const stored = published.values()
    return messages.map((_, index) => known.get(index) ?? stored.next().value ?? { id: 0, salt: 0, duplicate: false })
  }

  /** What fails after the messages were stored must not say that they were not. */
  async #completed(
    topic: TopicRecord,
    messages: readonly OutgoingMessage[],
    published: PublishedMessage[],
    caller: Caller,
  ): Promise<PublishedMessage[]> {
    try {
      return await this.#storeReplaced(topic, messages, published, caller)
    } catch (error) {
      if (caller !== undefined || !(error instanceof DatabaseError)) throw error
      throw OutcomeUnknownError.afterLostConnection(this.#database.location, error)
    }
  }

  /** A statement made for an outdated configuration stores nothing, and is made again. */
  async #store(known: TopicRecord, messages: readonly OutgoingMessage[], caller: Caller): Promise<PublishedMessage[]> {
    if (messages.length === 0) return []
    try {
      let topic = known
      for (let attempt = 1; ; attempt++) {
        const published =
          caller === undefined
            ? await this.#insert(topic, messages)
            : await this.#inTransaction(topic, messages, caller)
        if (published !== null) {
          this.#partitions.makeAhead(known, highestId(published))
          return published
        }
        const current = await this.#current(topic, caller)
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
  async #current(topic: TopicRecord, caller: Caller): Promise<TopicRecord> {
    const text = this.#database.sql(FIND_TOPIC)
    const id = String(topic.id)
    const [row] = caller === undefined ? await this.#database.query(text, [id]) : await caller.run(text, id)
    const current = row && toRecord(row as TopicRow)
    if (current?.uid === topic.uid) return current
    throw (await this.#unseen(topic, caller)) ?? (await this.#missing(topic))
  }

  /** A transaction whose snapshot is older than the topic sees its tables but not its row. */
  async #unseen(topic: TopicRecord, caller: Caller): Promise<TransactionError | undefined> {
    const text = this.#database.sql(IDENTIFY)
    const log = this.#database.sql(`tidemark.log_${topic.id}`)
    if (caller === undefined || (await findTopic(this.#database, topic.name))?.uid !== topic.uid) return undefined
    const [there, here] = [await caller.run(text, log), await this.#database.query(text, [log])]
    if (there[0]?.identity === null || there[0]?.identity !== here[0]?.identity) return undefined
    return new TransactionError(
      `The transaction given as tx began before the topic '${topic.name}' was created, and its isolation level keeps ` +
        'it from seeing the topic. Nothing was stored. Repeat the transaction, or create topics with configureTopic() ' +
        'when your program starts',
    )
  }

  /** A publish that found no partition stored nothing, so it can be retried once there is one. */
  async #insert(topic: TopicRecord, messages: readonly OutgoingMessage[]): Promise<PublishedMessage[] | null> {
    let insert = this.#prepare(topic, messages)
    for (let attempt = 1; ; attempt++) {
      try {
        return await insert()
      } catch (thrown) {
        // Unlike a caller's transaction, it is not rolled back with its connection; and unlike the look-ups around it, it
        // may have stored something.
        const error = unknownIfLost(thrown, this.#database.location)
        const code = error instanceof Error ? codeOf(error.cause) : ''
        const latest = code === NO_TABLE ? await findTopic(this.#database, topic.name) : undefined
        // Its bitmaps were dropped while it waited for them: the topic is tracked by offset now.
        if (latest && latest.config.tracking !== topic.config.tracking) insert = this.#prepare(latest, messages)
        else if (code !== NO_PARTITION || attempt === PARTITION_ATTEMPTS) throw error
        await this.#partitions.makeForNext(topic, messages.length * attempt).catch(ignoreLocked)
      }
    }
  }

  #prepare(topic: TopicRecord, messages: readonly OutgoingMessage[]): () => Promise<PublishedMessage[] | null> {
    if (messages.every(({ messageId }) => messageId === null)) return this.#preparePlain(topic, messages)
    const { bytes, text } = formatFor(this.#database)
    const values = [
      bytes(messages.map(message => message.payload)),
      text(messages.map(message => message.key)),
      text(messages.map(message => message.type)),
      text(messages.map(message => message.headers)),
      text(messages.map(message => message.messageId)),
    ]
    const statement = this.#database.sql(checkedText(topic, ARRAYS, SHORT_PATIENCE))
    return async () => {
      const salt = random52()
      try {
        return decodePublished(await this.#database.query(statement, [...values, salt]), salt, messages.length)
      } catch (error) {
        const isPending = error instanceof DatabaseLockedError && codeOf(error.cause) === NO_LOCK
        throw isPending ? new MessageIdPendingError(topic.name, error) : error
      }
    }
  }

  #preparePlain(topic: TopicRecord, messages: readonly OutgoingMessage[]): () => Promise<PublishedMessage[] | null> {
    const statement = this.#plain(topic, messages.length)
    const valuesWith = plainValues(messages, formatFor(this.#database), statement.isForOne)
    return () => {
      const salt = random52()
      const answer = this.#database.query(statement.text, valuesWith(salt), statement.name)
      return answer.then(rows => decodePublished(rows, salt, messages.length))
    }
  }

  async #inTransaction(
    topic: TopicRecord,
    messages: readonly OutgoingMessage[],
    caller: CallerTransaction,
  ): Promise<PublishedMessage[] | null> {
    if (this.#database.isSingle) await this.#partitions.ensureRoomIn(caller, topic, messages.length)
    else await this.#partitions.ensureRoom(topic, messages.length)
    const text = this.#database.sql(checkedText(topic, caller.isKnownToBeOpen ? KNOWN_TO_BE_OPEN : GUARDED))
    const salt = random52()
    const parameter = oneText(salt, messages)
    try {
      if (topic.config.tracking === 'reference' && !(await this.#holdTracking(topic, caller))) return null
      return decodePublished(await caller.runInside(text, parameter), salt, messages.length)
    } catch (error) {
      if (![NO_TABLE, NO_SCHEMA, NO_FUNCTION].includes(codeOf(error))) throw error
      throw await this.#missing(topic)
    }
  }

  /** An error would end the caller's transaction, so what the statement needs must be there before. */
  async #holdTracking(topic: TopicRecord, caller: CallerTransaction): Promise<boolean> {
    const [row] = await caller.run(this.#database.sql(HOLD_TRACKING), String(topic.id))
    // Libraries return booleans in different forms.
    if (row !== undefined && ['t', 'true'].includes(String(row.held))) return true
    const current = await this.#current(topic, caller)
    if (current.configVersion !== topic.configVersion) return false
    throw new TopicConflictError(
      topic.name,
      `Topic '${topic.name}' has changed its tracking since the transaction given to publish began. Roll it back and repeat it`,
    )
  }

  #plain(topic: TopicRecord, count: number): PlainStatement {
    let known = this.#plainStatements.get(topic.uid)
    if (known?.version !== topic.configVersion) {
      const { one, many } = plainStatements(topic, text => this.#database.sql(text))
      known = { version: topic.configVersion, one, many }
      this.#plainStatements.set(topic.uid, known)
    }
    return count === 1 ? known.one : known.many
  }

  /** Why a transaction doesn't see the topic: it was deleted, or the transaction is on another database. */
  async #missing({ name, uid }: TopicRecord): Promise<TidemarkError> {
    // If the caller holds the only connection, nothing else can be asked on it.
    if (this.#database.isSingle) return new TopicNotFoundError(name)
    await this.#database.requireNamespace()
    if (await this.#database.restoreFunctions()) return new FunctionsRestoredError(this.#database.location, undefined)
    const latest = await findTopic(this.#database, name)
    if (latest?.uid !== uid) return new TopicNotFoundError(name)
    return new TransactionError(
      `The tx given to publish belongs to another database: it does not have the topic '${name}' of ` +
        `${this.#database.location}. Nothing was stored. Pass a transaction of that database, or open Tidemark on yours`,
    )
  }

  /** A caller may repeat a messageId that Tidemark generated: that message is stored already. */
  async #findDerived(topic: TopicRecord, messages: readonly OutgoingMessage[], caller: Caller) {
    const candidates = new Map<number, DerivedId>()
    for (const [index, { messageId }] of messages.entries()) {
      const derived = messageId === null ? undefined : parseMessageId(topic.uid, messageId)
      if (derived !== undefined) candidates.set(index, derived)
    }
    const found = new Map<number, PublishedMessage>()
    if (candidates.size === 0) return found
    const rows = await this.#findRows(
      topic,
      [...candidates.values()].map(({ id }) => id),
      caller,
    )
    const stored = new Map(rows.map(row => [Number(row.id), row]))
    for (const [index, { id, salt }] of candidates) {
      const row = stored.get(id)
      if (row?.message_id === null && Number(row.salt) === salt) found.set(index, { id, salt, duplicate: true })
    }
    return found
  }

  /**
   * An entry for a caller's messageId no longer counts once another message has its id, as after a manual restore: then
   * the message is stored after all.
   */
  async #storeReplaced(
    topic: TopicRecord,
    messages: readonly OutgoingMessage[],
    published: PublishedMessage[],
    caller: Caller,
  ): Promise<PublishedMessage[]> {
    if (!published.some(({ duplicate }) => duplicate)) return published
    const duplicates = published.flatMap(({ id, duplicate }) => (duplicate ? [id] : []))
    const rows = await this.#findRows(topic, duplicates, caller)
    const messageIds = new Map(rows.map(row => [Number(row.id), row.message_id]))
    const isReplaced = ({ id, duplicate }: PublishedMessage, index: number): boolean =>
      duplicate && messageIds.has(id) && messageIds.get(id) !== messages[index]?.messageId
    const lost = messages.filter((_, index) => isReplaced(published[index] as PublishedMessage, index))
    if (lost.length === 0) return published
    const text = this.#database.sql(
      FORGET.replace('{topic}', String(topic.id)).replace('{inside}', caller === undefined ? 'true' : IS_INSIDE),
    )
    await this.#run(text, JSON.stringify(lost.map(({ messageId }) => messageId)), caller)
    const stored = (await this.#store(topic, lost, caller)).values()
    return published.map((each, index) => (isReplaced(each, index) ? (stored.next().value ?? each) : each))
  }

  #findRows(topic: TopicRecord, ids: readonly number[], caller: Caller): Promise<Row[]> {
    // Each in its own look-up: for a thousand ids at once, PostgreSQL 15 read the whole log.
    const text = this.#database.sql(`
      select l.id::text as id, l.salt::text as salt, l.message_id
      from unnest(string_to_array($1::text, ',')::bigint[]) as wanted (id)
      cross join lateral (select * from tidemark.log_${topic.id} as m where m.id = wanted.id limit 1) as l`)
    return this.#run(text, ids.join(','), caller)
  }

  #run(text: string, parameter: string, caller: Caller): Promise<Row[]> {
    return caller === undefined ? this.#database.query(text, [parameter]) : caller.run(text, parameter)
  }
}

/** Somebody holds the log's lock, perhaps an ANALYZE. The publish itself finds out whether there is a partition now. */
function ignoreLocked(error: unknown): void {
  if (!(error instanceof DatabaseLockedError)) throw error
}

function highestId(published: readonly PublishedMessage[]): number {
  let highest = 0
  for (const { id } of published) if (id > highest) highest = id
  return highest
}

function explain(error: unknown, topic: TopicRecord, location: string): TidemarkError {
  const cause = error instanceof Error && codeOf(error).length !== 5 ? error.cause : error
  if (codeOf(cause) === NO_TABLE) return new TopicNotFoundError(topic.name)
  if (codeOf(cause) === NOT_TEXT) {
    return new PayloadError(
      'The key, type, headers or messageId contain a NUL character, which PostgreSQL cannot store. Remove it',
      cause,
    )
  }
  return mapError(error, location)
}
