import { MessageNotFoundError, TopicNotFoundError } from '../../errors.ts'
import { parseMessageId } from '../../payload/message-id.ts'
import type { StartPosition } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { rememberedText, saltedText } from './dedupe.ts'
import { type Bounds, boundsOf, firstIdSince } from './log-rows.ts'
import { rowOf } from './rows.ts'
import { logTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** The id just before the first message to deliver. */
export function cursorAt(tx: Transaction, topic: TopicRecord, from: StartPosition): number {
  const bounds = rowOf<Bounds>(tx.prepare('select first_id, next_id from tidemark_topic where id = ?'), topic.id)
  if (bounds === undefined) throw new TopicNotFoundError(topic.name)
  if (from === 'now') return bounds.next_id - 1
  if (from === 'beginning') return bounds.first_id - 1
  if ('timestamp' in from) return firstIdSince(tx, topic, bounds, from.timestamp) - 1
  const id = idOf(tx, topic, from.messageId)
  if (id === undefined || id < bounds.first_id || id >= bounds.next_id) {
    throw new MessageNotFoundError(topic.name, from.messageId)
  }
  return id - 1
}

/**
 * The message's id, even if the message was cleaned up; undefined if there never was such a message, or another has its
 * id now.
 */
export function idOf(tx: Transaction, topic: TopicRecord, messageId: string): number | undefined {
  const derived = parseMessageId(topic.uid, messageId)
  const isKept = derived !== undefined && rowOf(tx.prepare(saltedText(topic)), derived.id, derived.salt) !== undefined
  if (isKept) return derived.id
  const remembered = rowOf<{ id: number }>(tx.prepare(rememberedText(topic)), topic.id, messageId, 0)
  if (remembered !== undefined) return remembered.id
  if (derived !== undefined && derived.id < boundsOf(tx, topic).first_id) return derived.id
  // Past its dedupe window, it is only found in the log itself.
  return rowOf<{ id: number }>(
    tx.prepare(`select id from ${logTable(topic.id)} where message_id = ? order by id desc limit 1`),
    messageId,
  )?.id
}

/** Id just before the newest `maxMessages` messages after `first`. */
export function newestAfter(tx: Transaction, topic: TopicRecord, first: number, maxMessages: number | null): number {
  if (maxMessages === null) return first
  return Math.max(first, cursorAt(tx, topic, 'now') - maxMessages)
}
