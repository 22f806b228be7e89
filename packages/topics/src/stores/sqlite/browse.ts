import { DatabaseRewoundError } from '../../errors.ts'
import type { BrowseStep, IdRange } from '../browse-steps.ts'
import { type ByteBounds, UNBOUNDED } from '../byte-bounds.ts'
import type { BrowseQuery, TailPage } from '../log.ts'
import type { TopicRecord } from '../topic-record.ts'
import {
  BOUNDED_COLUMNS,
  type BoundedRow,
  type BoundedRows,
  messageBytes,
  rowsWithin,
  toRawMessage,
} from './bounded-rows.ts'
import type { SqlValue } from './driver.ts'
import { boundsOf, createdAt, firstIdSince } from './log-rows.ts'
import { idOf } from './positions.ts'
import { logTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

export function rangeOf(tx: Transaction, topic: TopicRecord, { after, before, since, until }: BrowseQuery): IdRange {
  const bounds = boundsOf(tx, topic)
  const from = since === undefined ? bounds.first_id : firstIdSince(tx, topic, bounds, since)
  const to = until === undefined ? bounds.next_id : firstIdSince(tx, topic, bounds, until)
  return { low: Math.max(from, (after ?? 0) + 1), high: Math.min(to, before ?? Number.MAX_SAFE_INTEGER) - 1 }
}

export function readMatching(
  tx: Transaction,
  topic: TopicRecord,
  { key, type, newestFirst, maxPayloadBytes = UNBOUNDED }: BrowseQuery,
  { low, high, room, maxBytes, taken }: BrowseStep,
): BoundedRows<BoundedRow> {
  const values: SqlValue[] = [maxPayloadBytes, low, high]
  let matching = ''
  if (key !== undefined) {
    matching += ' and key = ?'
    values.push(key)
  }
  if (type !== undefined) {
    matching += ' and type is ?'
    values.push(type)
  }
  const statement = tx.prepare(`
    select id, ${BOUNDED_COLUMNS} from ${logTable(topic.id)}
    where id between ? and ?${matching}
    order by id ${newestFirst ? 'desc' : 'asc'}
    limit ?`)
  return rowsWithin(statement, [...values, room], { maxBytes, taken }, messageBytes)
}

/**
 * Ids follow commit order, so a place is an id, together with the time of its message, because a restored file reuses
 * ids. Call it as one reader.
 */
export function tail(
  tx: Transaction,
  topic: TopicRecord,
  place: string | null,
  limit: number,
  bounds: ByteBounds,
): TailPage {
  const { first_id, next_id } = boundsOf(tx, topic)
  const placeAt = (id: number): string => `${id} ${createdAt(tx, topic.id, id) ?? ''}`
  if (place === null) return { messages: [], place: placeAt(next_id - 1) }
  const id = Number(place.split(' ')[0])
  const isCleaned = id < first_id
  if (id >= next_id || (!isCleaned && place !== placeAt(id))) throw DatabaseRewoundError.ofTail(tx.path, topic.name)
  const first = Math.max(id + 1, first_id)
  const last = Math.min(first + limit - 1, next_id - 1)
  if (last < first) return { messages: [], place }
  const statement = tx.prepare(`
    select id, ${BOUNDED_COLUMNS} from ${logTable(topic.id)} where id between ? and ? order by id`)
  const { rows, isCut } = rowsWithin<BoundedRow>(
    statement,
    [bounds.maxPayloadBytes ?? UNBOUNDED, first, last],
    bounds,
    messageBytes,
  )
  return { messages: rows.map(toRawMessage), place: placeAt(isCut ? (rows.at(-1)?.id ?? last) : last) }
}

export function find(tx: Transaction, topic: TopicRecord, messageId: string): number | undefined {
  const { first_id, next_id } = boundsOf(tx, topic)
  const id = idOf(tx, topic, messageId)
  return id !== undefined && id >= first_id && id < next_id ? id : undefined
}
