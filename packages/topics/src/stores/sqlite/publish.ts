import { NoSubscriptionsError, TopicNotFoundError } from '../../errors.ts'
import { parseMessageId } from '../../payload/message-id.ts'
import { random52 } from '../../payload/random-bits.ts'
import { checkSize, isPlain } from '../../publish/outgoing.ts'
import type { OutgoingMessage, PublishedMessage } from '../log.ts'
import type { TopicRecord } from '../topic-record.ts'
import { requireBits } from './bits.ts'
import { agoBy, NOW, uptimeNow } from './clock.ts'
import { rememberedText, saltedText } from './dedupe.ts'
import type { SqlValue } from './driver.ts'
import { LARGE_BYTES } from './page-bytes.ts'
import { rowOf } from './rows.ts'
import { logTable, TOPIC_COLUMNS, type TopicRow, toRecord } from './topic-rows.ts'
import type { Prepare } from './transaction.ts'

/**
 * How many expired dedupe rows a publish removes for each row it adds: twice as many, so the table shrinks to its
 * window.
 */
const PRUNE_FACTOR = 2

/** Call it inside a write transaction. */
export function insertMessages(
  prepare: Prepare,
  known: TopicRecord,
  messages: readonly OutgoingMessage[],
): PublishedMessage[] {
  const isNew = messages.every(message => message.messageId === null)
  // Nearly every publish: there is nothing to find out first.
  const taken =
    isNew && !known.config.blockPublishWithoutSubscription ? allocate(prepare, known, messages.length) : null
  const topic = taken === null ? currentTopic(prepare, known, messages) : known
  // Checked before anything is written: a refusal must leave nothing in a caller's transaction.
  if (topic.config.blockPublishWithoutSubscription) requireSubscription(prepare, topic)
  const duplicates = isNew ? new Map<OutgoingMessage, number>() : findDuplicates(prepare, topic, messages)
  const { firstId, createdAt } = taken ?? allocated(prepare, topic, messages.length - duplicates.size)
  // Drawn with the ids: a transaction that is rolled back and run again gets another salt.
  const salt = random52()
  const fresh: OutgoingMessage[] = []
  const published = messages.map(message => {
    const duplicateOf = duplicates.get(message)
    if (duplicateOf !== undefined) return { id: duplicateOf, salt, duplicate: true }
    const id = firstId + fresh.length
    fresh.push(message)
    if (message.messageId !== null) remember(prepare, topic, message.messageId, id, createdAt)
    return { id, salt, duplicate: false }
  })
  insertRows(prepare, topic.id, { firstId, createdAt, salt }, fresh)
  if (topic.config.tracking === 'reference') requireBits(prepare, topic, firstId, firstId + fresh.length - 1)
  return published
}

/** The topic as it is now: another process may have changed its configuration since this one read it. */
function currentTopic(prepare: Prepare, known: TopicRecord, messages: readonly OutgoingMessage[]): TopicRecord {
  const row = rowOf<{ config_version: number }>(
    prepare('select config_version from tidemark_topic where id = ? and uid = ?'),
    known.id,
    known.uid,
  )
  if (row?.config_version === known.configVersion) return known
  const changed = rowOf<TopicRow>(
    prepare(`select ${TOPIC_COLUMNS} from tidemark_topic where id = ? and uid = ?`),
    known.id,
    known.uid,
  )
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

/** What the rows of one publish have in common; their ids are consecutive. */
type Stamp = { readonly firstId: number; readonly createdAt: number; readonly salt: number }

/**
 * Rows per statement. 50 at a time take half as long as one by one, and more gains nothing; 8 at a time nearly as
 * little, which matters for the rest of a group commit.
 */
const CHUNKS = [50, 8, 1] as const
const PLAIN = ['payload'] as const
const FULL = [...PLAIN, 'key', 'type', 'headers', 'message_id'] as const
type Columns = typeof PLAIN | typeof FULL

function insertRows(prepare: Prepare, topicId: number, stamp: Stamp, messages: readonly OutgoingMessage[]): void {
  const lastExtra = messages.findLastIndex(message => !isPlain(message))
  const plain = lastExtra === -1
  const { firstId, createdAt, salt } = stamp
  if (!plain) prepare('update tidemark_topic set last_extra_id = ? where id = ?').run(firstId + lastExtra, topicId)
  const lastLarge = messages.findLastIndex(({ payload }) => payload.length > LARGE_BYTES)
  if (lastLarge !== -1) {
    prepare('update tidemark_topic set last_large_id = ? where id = ?').run(firstId + lastLarge, topicId)
  }
  const columns = plain ? PLAIN : FULL
  for (let from = 0; from < messages.length; ) {
    const count = CHUNKS.find(size => from + size <= messages.length) ?? 1
    const chunk = messages.slice(from, from + count)
    const values = plain ? chunk.map(plainValue) : chunk.flatMap(fullValues)
    prepare(insertText(topicId, columns, count)).run(firstId + from, createdAt, salt, ...values)
    from += count
  }
}

const insertTexts = new Map<string, string>()

/** Common values are bound once and ids are computed: binding a value costs a tenth of a row. */
function insertText(topicId: number, columns: Columns, count: number): string {
  const known = `${topicId}/${columns.length}/${count}`
  let text = insertTexts.get(known)
  if (text === undefined) {
    const rows = Array.from({ length: count }, (_, row) => {
      const values = columns.map((_, column) => `?${4 + row * columns.length + column}`)
      return `(?1 + ${row}, ?2, ?3, ${values.join(', ')})`
    })
    text = `insert into ${logTable(topicId)} (id, created_at, salt, ${columns.join(', ')}) values ${rows.join(', ')}`
    insertTexts.set(known, text)
  }
  return text
}

const plainValue = ({ payload }: OutgoingMessage): SqlValue => payload

const fullValues = ({ payload, key, type, headers, messageId }: OutgoingMessage): SqlValue[] => [
  payload,
  key,
  type,
  headers,
  messageId,
]

type Allocated = { readonly firstId: number; readonly createdAt: number }

function allocated(prepare: Prepare, topic: TopicRecord, count: number): Allocated {
  const ids = allocate(prepare, topic, count)
  if (ids === null) throw new TopicNotFoundError(topic.name)
  return ids
}

/**
 * Ids are assigned inside the write transaction, so they follow commit order and have no gaps. null: the topic is gone or
 * has another configuration by now, and nothing was written. One statement that also reads the clock and checks the topic:
 * three take twice as long.
 */
function allocate(prepare: Prepare, { id, uid, configVersion }: TopicRecord, count: number): Allocated | null {
  const row = rowOf<{ next_id: number; last_created_at: number }>(
    prepare(`
      update tidemark_topic
      set next_id = next_id + ?, last_created_at = max(${NOW}, last_created_at)
      where id = ? and uid = ? and config_version = ?
      returning next_id, last_created_at`),
    count,
    uptimeNow(),
    id,
    uid,
    configVersion,
  )
  return row === undefined ? null : { firstId: row.next_id - count, createdAt: row.last_created_at }
}

/** The messages that are already stored, with their ids, including repetitions within this call. */
function findDuplicates(
  prepare: Prepare,
  topic: TopicRecord,
  messages: readonly OutgoingMessage[],
): Map<OutgoingMessage, number> {
  const duplicates = new Map<OutgoingMessage, number>()
  const window = topic.config.dedupeWindowMs
  const oldest = window === null ? 0 : agoBy(prepare, window)
  const find = prepare(rememberedText(topic))
  const head = rowOf<{ next_id: number }>(prepare('select next_id from tidemark_topic where id = ?'), topic.id)
  const within = new Map<string, number>()
  let next = head?.next_id ?? 1
  for (const message of messages) {
    const { messageId } = message
    if (messageId === null) {
      next++
      continue
    }
    const known =
      within.get(messageId) ??
      findDerived(prepare, topic, messageId) ??
      rowOf<{ id: number }>(find, topic.id, messageId, oldest)?.id
    if (known !== undefined) duplicates.set(message, known)
    else within.set(messageId, next++)
  }
  if (window !== null) prune(prepare, topic, oldest, within.size * PRUNE_FACTOR)
  return duplicates
}

/** A caller may repeat a messageId that Tidemark generated: that message is stored already. */
function findDerived(prepare: Prepare, topic: TopicRecord, messageId: string): number | undefined {
  const derived = parseMessageId(topic.uid, messageId)
  return derived && rowOf<{ id: number }>(prepare(saltedText(topic)), derived.id, derived.salt)?.id
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
