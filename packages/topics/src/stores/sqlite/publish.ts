import { realpathSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { NoSubscriptionsError, TopicNotFoundError, TransactionError } from '../../errors.ts'
import { idOfMessageId } from '../../message-id.ts'
import { checkSize, isPlain } from '../../payload/outgoing.ts'
import type { OutgoingMessage, PublishedMessage, TopicRecord } from '../store.ts'
import { requireBits } from './bits.ts'
import { nowBy, rowOf, type SqlValue } from './connection.ts'
import { logTable, TOPIC_COLUMNS, type TopicRow, toRecord } from './topics.ts'

export type Prepare = (sql: string) => StatementSync

/** Dedupe rows to remove with each publish that adds some: twice what it adds, so the table can only shrink to its window. */
const PRUNE_FACTOR = 2

/** To be called inside a write transaction. */
export function insertMessages(
  prepare: Prepare,
  known: TopicRecord,
  messages: readonly OutgoingMessage[],
): PublishedMessage[] {
  const topic = currentTopic(prepare, known, messages)
  // Before anything is written: a refusal must leave nothing in a caller's transaction.
  if (topic.config.blockPublishWithoutSubscription) requireSubscription(prepare, topic)
  const duplicates = messages.some(message => message.messageId !== null)
    ? findDuplicates(prepare, topic, messages)
    : new Map<OutgoingMessage, number>()
  const { firstId, createdAt } = allocate(prepare, topic, messages.length - duplicates.size)
  const fresh: Row[] = []
  const published = messages.map(message => {
    const duplicateOf = duplicates.get(message)
    if (duplicateOf !== undefined) return { id: duplicateOf, duplicate: true }
    const id = firstId + fresh.length
    fresh.push({ id, createdAt, message })
    if (message.messageId !== null) remember(prepare, topic, message.messageId, id, createdAt)
    return { id, duplicate: false }
  })
  insertRows(prepare, topic.id, fresh)
  if (topic.config.tracking === 'reference') requireBits(prepare, topic, firstId, firstId + fresh.length - 1)
  return published
}

/** The topic as it is now: another process may have configured it since this one looked. */
function currentTopic(prepare: Prepare, known: TopicRecord, messages: readonly OutgoingMessage[]): TopicRecord {
  const row = rowOf<{ config_version: number }>(
    prepare('select config_version from tidemark_topic where id = ?'),
    known.id,
  )
  if (row?.config_version === known.configVersion) return known
  const changed = rowOf<TopicRow>(prepare(`select ${TOPIC_COLUMNS} from tidemark_topic where id = ?`), known.id)
  if (changed === undefined) throw new TopicNotFoundError(known.name)
  const topic = toRecord(changed)
  for (const message of messages) checkSize(topic, message)
  return topic
}

function requireSubscription(prepare: Prepare, topic: TopicRecord): void {
  const live = rowOf(
    prepare("select 1 from tidemark_subscription where topic_id = ? and status in ('ACTIVE', 'PAUSED') limit 1"),
    topic.id,
  )
  if (live === undefined) throw new NoSubscriptionsError(topic.name)
}

type Row = { readonly id: number; readonly createdAt: number; readonly message: OutgoingMessage }

/** Rows per statement: 50 at a time are stored a third faster than one by one, and more gains no more. */
const CHUNK = 50
const PLAIN = ['id', 'created_at', 'payload'] as const
const FULL = [...PLAIN, 'key', 'type', 'headers', 'message_id'] as const

function insertRows(prepare: Prepare, topicId: number, rows: readonly Row[]): void {
  const table = logTable(topicId)
  const lastExtra = rows.findLast(({ message }) => !isPlain(message))
  const plain = lastExtra === undefined
  if (!plain) prepare('update tidemark_topic set last_extra_id = ? where id = ?').run(lastExtra.id, topicId)
  const columns = plain ? PLAIN : FULL
  const valuesOf = plain ? plainValues : fullValues
  const insert = (count: number): StatementSync => {
    const row = `(${columns.map(() => '?').join(', ')})`
    return prepare(`insert into ${table} (${columns.join(', ')}) values ${new Array(count).fill(row).join(', ')}`)
  }
  let from = 0
  for (; from + CHUNK <= rows.length; from += CHUNK)
    insert(CHUNK).run(...rows.slice(from, from + CHUNK).flatMap(valuesOf))
  for (; from < rows.length; from++) insert(1).run(...rows.slice(from, from + 1).flatMap(valuesOf))
}

const plainValues = ({ id, createdAt, message }: Row): SqlValue[] => [id, createdAt, message.payload]

const fullValues = (row: Row): SqlValue[] => {
  const { key, type, headers, messageId } = row.message
  return [...plainValues(row), key, type, headers, messageId]
}

/** Ids are drawn inside the write transaction, so they follow the commits and have no gaps. */
function allocate(prepare: Prepare, topic: TopicRecord, count: number): { firstId: number; createdAt: number } {
  const row = rowOf<{ next_id: number; last_created_at: number }>(
    prepare(`
      update tidemark_topic
      set next_id = next_id + ?, last_created_at = max(last_created_at, ?)
      where id = ?
      returning next_id, last_created_at`),
    count,
    nowBy(prepare),
    topic.id,
  )
  if (row === undefined) throw new TopicNotFoundError(topic.name)
  return { firstId: row.next_id - count, createdAt: row.last_created_at }
}

/** The messages that are stored already, with their ids; the second of two equal ones in one call is one too. */
function findDuplicates(
  prepare: Prepare,
  topic: TopicRecord,
  messages: readonly OutgoingMessage[],
): Map<OutgoingMessage, number> {
  const duplicates = new Map<OutgoingMessage, number>()
  const window = topic.config.dedupeWindowMs
  const oldest = window === null ? 0 : nowBy(prepare) - window
  const find = prepare('select id from tidemark_dedupe where topic_id = ? and message_id = ? and created_at >= ?')
  const head = rowOf<{ next_id: number }>(prepare('select next_id from tidemark_topic where id = ?'), topic.id)
  const within = new Map<string, number>()
  let next = head?.next_id ?? 1
  for (const message of messages) {
    const { messageId } = message
    if (messageId === null) {
      next++
      continue
    }
    const derived = idOfMessageId(topic.uid, messageId)
    const known =
      within.get(messageId) ??
      (derived !== undefined && head !== undefined && derived < head.next_id ? derived : undefined) ??
      rowOf<{ id: number }>(find, topic.id, messageId, oldest)?.id
    if (known !== undefined) duplicates.set(message, known)
    else within.set(messageId, next++)
  }
  if (window !== null) prune(prepare, topic, oldest, within.size * PRUNE_FACTOR)
  return duplicates
}

function remember(prepare: Prepare, topic: TopicRecord, messageId: string, id: number, createdAt: number): void {
  prepare('insert or replace into tidemark_dedupe (topic_id, message_id, id, created_at) values (?, ?, ?, ?)').run(
    topic.id,
    messageId,
    id,
    createdAt,
  )
}

function prune(prepare: Prepare, topic: TopicRecord, oldest: number, limit: number): void {
  prepare(`
    delete from tidemark_dedupe
    where topic_id = ?1 and message_id in (
      select message_id from tidemark_dedupe where topic_id = ?1 and created_at < ?2 order by created_at limit ?3
    )`).run(topic.id, oldest, limit)
}

const statementsOf = new WeakMap<DatabaseSync, Map<string, StatementSync>>()

/** The caller's own connection, checked: the same file, with a transaction open. */
export function prepareOn(tx: unknown, path: string): Prepare {
  if (!(tx instanceof DatabaseSync)) {
    throw new TransactionError(
      'On SQLite, tx must be a DatabaseSync of node:sqlite with a transaction open on the same file',
    )
  }
  if (!tx.isOpen || !tx.isTransaction) {
    throw new TransactionError(
      "The DatabaseSync given as tx has no transaction open. Call exec('begin immediate') on it first",
    )
  }
  if (path === ':memory:' || tx.location() !== realpathSync(path)) {
    throw new TransactionError(
      `The DatabaseSync given as tx has ${tx.location() ?? 'a memory database'} open, not ${path}`,
    )
  }
  const statements = statementsOf.get(tx) ?? new Map<string, StatementSync>()
  statementsOf.set(tx, statements)
  return sql => {
    const statement = statements.get(sql) ?? tx.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
}
