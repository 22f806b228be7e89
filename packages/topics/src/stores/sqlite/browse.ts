import { setImmediate as nextTurn } from 'node:timers/promises'
import { DatabaseRewoundError } from '../../errors.ts'
import type { RawMessage } from '../../raw-message.ts'
import { BROWSE_STEP, MOST_BROWSED } from '../browse-limits.ts'
import { type ByteBounds, UNBOUNDED } from '../byte-bounds.ts'
import type { BrowsePage, BrowseQuery, TailPage } from '../fan-out-store.ts'
import type { TopicRecord } from '../store.ts'
import {
  BOUNDED_COLUMNS,
  type BoundedRow,
  type BoundedRows,
  messageBytes,
  type Room,
  rowsWithin,
  toRawMessage,
} from './bounded-rows.ts'
import type { Connection, SqlValue } from './connection.ts'
import { boundsOf, createdAt, firstIdSince } from './log.ts'
import { idOf } from './subscriptions.ts'
import { logTable } from './topics.ts'

type Range = { readonly low: number; readonly high: number }

/** Reads by id, in steps; key and type are compared row by row. */
export async function browse(connection: Connection, topic: TopicRecord, query: BrowseQuery): Promise<BrowsePage> {
  const { newestFirst, limit, maxBytes = UNBOUNDED } = query
  const messages: RawMessage[] = []
  let bytes = 0
  let isCut = false
  let left = await connection.retryWhileBusy(() => rangeOf(connection, topic, query))
  for (
    let read = 0;
    read < MOST_BROWSED && left.high >= left.low && messages.length < limit && !isCut;
    read += BROWSE_STEP
  ) {
    if (read > 0) await nextTurn()
    const step = newestFirst
      ? { low: Math.max(left.low, left.high - BROWSE_STEP + 1), high: left.high }
      : { low: left.low, high: Math.min(left.high, left.low + BROWSE_STEP - 1) }
    const room = limit - messages.length
    const within = { maxBytes: maxBytes - bytes, taken: messages.length }
    const found = await connection.retryWhileBusy(() => readMatching(connection, topic, query, step, room, within))
    messages.push(...found.rows.map(toRawMessage))
    bytes += found.bytes
    isCut = found.isCut
    const last = found.rows.length === room || isCut ? found.rows.at(-1)?.id : undefined
    // Not even the first of this step: it is where the next page begins.
    if (isCut && last === undefined) break
    left = newestFirst
      ? { low: left.low, high: (last ?? step.low) - 1 }
      : { low: (last ?? step.high) + 1, high: left.high }
  }
  const isDone = left.high < left.low
  return { messages, next: isDone ? null : newestFirst ? left.high + 1 : left.low - 1 }
}

function rangeOf(connection: Connection, topic: TopicRecord, { after, before, since, until }: BrowseQuery): Range {
  const bounds = boundsOf(connection, topic)
  const from = since === undefined ? bounds.first_id : firstIdSince(connection, topic, bounds, since)
  const to = until === undefined ? bounds.next_id : firstIdSince(connection, topic, bounds, until)
  return { low: Math.max(from, (after ?? 0) + 1), high: Math.min(to, before ?? Number.MAX_SAFE_INTEGER) - 1 }
}

function readMatching(
  connection: Connection,
  topic: TopicRecord,
  { key, type, newestFirst, maxPayloadBytes = UNBOUNDED }: BrowseQuery,
  { low, high }: Range,
  limit: number,
  within: Room,
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
  const statement = connection.prepare(`
    select id, ${BOUNDED_COLUMNS} from ${logTable(topic.id)}
    where id between ? and ?${matching}
    order by id ${newestFirst ? 'desc' : 'asc'}
    limit ?`)
  return rowsWithin(statement, [...values, limit], within, messageBytes)
}

/**
 * Ids follow the commits, so the place is an id; with the time of its message, since a file that was restored gives ids out
 * again. To be called as one reader.
 */
export function tail(
  connection: Connection,
  topic: TopicRecord,
  place: string | null,
  limit: number,
  bounds: ByteBounds,
): TailPage {
  const { first_id, next_id } = boundsOf(connection, topic)
  const placeAt = (id: number): string => `${id} ${createdAt(connection, topic.id, id) ?? ''}`
  if (place === null) return { messages: [], place: placeAt(next_id - 1) }
  const id = Number(place.split(' ')[0])
  const isCleaned = id < first_id
  if (id >= next_id || (!isCleaned && place !== placeAt(id)))
    throw DatabaseRewoundError.ofTail(connection.path, topic.name)
  const first = Math.max(id + 1, first_id)
  const last = Math.min(first + limit - 1, next_id - 1)
  if (last < first) return { messages: [], place }
  const statement = connection.prepare(`
    select id, ${BOUNDED_COLUMNS} from ${logTable(topic.id)} where id between ? and ? order by id`)
  const { rows, isCut } = rowsWithin<BoundedRow>(
    statement,
    [bounds.maxPayloadBytes ?? UNBOUNDED, first, last],
    bounds,
    messageBytes,
  )
  return { messages: rows.map(toRawMessage), place: placeAt(isCut ? (rows.at(-1)?.id ?? last) : last) }
}

export function find(connection: Connection, topic: TopicRecord, messageId: string): number | undefined {
  const { first_id, next_id } = boundsOf(connection, topic)
  const id = idOf(connection, topic, messageId)
  return id !== undefined && id >= first_id && id < next_id ? id : undefined
}
