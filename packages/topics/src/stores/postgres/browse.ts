import { DatabaseRewoundError } from '../../errors.ts'
import type { RawMessage } from '../../raw-message.ts'
import { BROWSE_STEP, MOST_BROWSED } from '../browse-limits.ts'
import type { BrowsePage, BrowseQuery, TailPage } from '../fan-out-store.ts'
import type { TopicRecord } from '../store.ts'
import type { Database } from './database.ts'
import { decodePage } from './page.ts'
import { findMessage } from './subscribe.ts'

/** Messages that were stored side by side may have times and ids in different orders; no further apart than this. */
const SIDE_BY_SIDE = 10_000

const timestamp = (parameter: string): string => `to_timestamp(${parameter}::float8 / 1000)`

const BOUNDS = `
  select tidemark.first_kept_id($1) as first, tidemark.last_id($1) as last,
    case when $2::float8 is not null then tidemark.id_near($1, ${timestamp('$2')}) end as since,
    case when $3::float8 is not null then tidemark.id_near($1, ${timestamp('$3')}) end as until`
const BROWSE = `select * from tidemark.browse($1, $2, $3, ${timestamp('$4')}, ${timestamp('$5')}, $6, $7, $8, $9, $10)`
const TAIL = 'select place, (page).* from tidemark.tail($1, $2, $3)'

type Range = { readonly low: number; readonly high: number }

/** Reads by ranges of ids; key, type and time are compared row by row. */
export async function browse(database: Database, topic: TopicRecord, query: BrowseQuery): Promise<BrowsePage> {
  const { newestFirst, limit } = query
  const messages: RawMessage[] = []
  let left = await rangeOf(database, topic, query)
  for (let read = 0; read < MOST_BROWSED && left.high >= left.low && messages.length < limit; read += BROWSE_STEP) {
    const step = newestFirst
      ? { low: Math.max(left.low, left.high - BROWSE_STEP + 1), high: left.high }
      : { low: left.low, high: Math.min(left.high, left.low + BROWSE_STEP - 1) }
    const room = limit - messages.length
    const found = await readMatching(database, topic, query, step, room)
    messages.push(...found)
    const last = found.length === room ? found.at(-1)?.id : undefined
    left = newestFirst
      ? { low: left.low, high: (last ?? step.low) - 1 }
      : { low: (last ?? step.high) + 1, high: left.high }
  }
  const isDone = left.high < left.low
  return { messages, next: isDone ? null : newestFirst ? left.high + 1 : left.low - 1 }
}

async function rangeOf(database: Database, topic: TopicRecord, query: BrowseQuery): Promise<Range> {
  const { after = 0, before = Number.MAX_SAFE_INTEGER, since = null, until = null } = query
  const [bounds] = await database.query(database.sql(BOUNDS), [topic.id, since, until])
  const from = bounds?.since ? Number(bounds.since) - SIDE_BY_SIDE : 0
  const to = bounds?.until ? Number(bounds.until) + SIDE_BY_SIDE : Number.MAX_SAFE_INTEGER
  return {
    low: Math.max(from, Number(bounds?.first), after + 1),
    high: Math.min(to, Number(bounds?.last), before - 1),
  }
}

async function readMatching(
  database: Database,
  topic: TopicRecord,
  { since, until, key, type, newestFirst }: BrowseQuery,
  { low, high }: Range,
  limit: number,
): Promise<RawMessage[]> {
  const filters = [since ?? null, until ?? null, key ?? null, type !== undefined, type ?? null]
  const [row] = await database.query(database.sql(BROWSE), [topic.id, low, high, ...filters, newestFirst, limit])
  return (row && decodePage(row)) ?? []
}

export async function tail(
  database: Database,
  topic: TopicRecord,
  place: string | null,
  limit: number,
): Promise<TailPage> {
  const [row] = await database.query(database.sql(TAIL), [topic.id, place, limit])
  if (!row?.place) throw DatabaseRewoundError.ofTail(database.location, topic.name)
  return { messages: decodePage(row) ?? [], place: row.place }
}

export async function find(database: Database, topic: TopicRecord, messageId: string): Promise<number | undefined> {
  const found = await findMessage(database, topic, messageId)
  return found === undefined ? undefined : Number(found)
}
