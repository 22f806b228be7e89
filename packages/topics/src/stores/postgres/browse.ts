import { DatabaseRewoundError } from '../../errors.ts'
import type { RawMessage } from '../../payload/raw-message.ts'
import { type BrowseStep, browseBySteps, type IdRange, type StepFound } from '../browse-steps.ts'
import type { ByteBounds } from '../byte-bounds.ts'
import type { BrowsePage, BrowseQuery, TailPage } from '../log.ts'
import type { TopicRecord } from '../topic-record.ts'
import { decodePage } from './page.ts'
import { findMessage } from './subscribe.ts'
import type { Transaction } from './transaction.ts'

/** The times and ids of concurrently stored messages may be in different orders, but are no further apart than this. */
const SIDE_BY_SIDE = 10_000

const timestamp = (parameter: string): string => `to_timestamp(${parameter}::float8 / 1000)`

const BOUNDS = `
  select tidemark_fn.first_kept_id($1) as first, tidemark_fn.last_id($1) as last,
    case when $2::float8 is not null then tidemark_fn.id_near($1, ${timestamp('$2')}) end as since,
    case when $3::float8 is not null then tidemark_fn.id_near($1, ${timestamp('$3')}) end as until`
const BROWSE = `
  select is_cut, (page).*
  from tidemark_fn.browse($1, $2, $3, ${timestamp('$4')}, ${timestamp('$5')}, $6, $7, $8, $9, $10, $11, $12, $13)`
const TAIL = 'select place, (page).* from tidemark_fn.tail($1, $2, $3, $4, $5)'

/** Reads by ranges of ids; key, type and time are compared row by row. */
export async function browse(tx: Transaction, topic: TopicRecord, query: BrowseQuery): Promise<BrowsePage> {
  const range = await rangeOf(tx, topic, query)
  return await browseBySteps(query, range, step => readMatching(tx, topic, query, step))
}

async function rangeOf(tx: Transaction, topic: TopicRecord, query: BrowseQuery): Promise<IdRange> {
  const { after = 0, before = Number.MAX_SAFE_INTEGER, since = null, until = null } = query
  const [bounds] = await tx.query(tx.sql(BOUNDS), [topic.id, since, until])
  const from = bounds?.since ? Number(bounds.since) - SIDE_BY_SIDE : 0
  const to = bounds?.until ? Number(bounds.until) + SIDE_BY_SIDE : Number.MAX_SAFE_INTEGER
  return {
    low: Math.max(from, Number(bounds?.first), after + 1),
    high: Math.min(to, Number(bounds?.last), before - 1),
  }
}

async function readMatching(
  tx: Transaction,
  topic: TopicRecord,
  { since, until, key, type, newestFirst, maxBytes, maxPayloadBytes }: BrowseQuery,
  { low, high, room, maxBytes: bytesLeft, taken }: BrowseStep,
): Promise<StepFound> {
  const filters = [since ?? null, until ?? null, key ?? null, type !== undefined, type ?? null]
  const bounds = [maxBytes === undefined ? null : bytesLeft, maxPayloadBytes ?? null, taken === 0]
  const values = [topic.id, low, high, ...filters, newestFirst, room, ...bounds]
  const [row] = await tx.query(tx.sql(BROWSE), values)
  const messages = await withOmitted(tx, topic, (row && decodePage(row)) ?? [], maxPayloadBytes)
  const bytes = messages.reduce((sum, message) => sum + bytesOf(message), 0)
  return { messages, bytes, isCut: row?.is_cut === 't' }
}

/** The size as the server counts it. */
const bytesOf = ({ payload, headers, key, omittedBytes }: RawMessage): number =>
  omittedBytes === undefined
    ? Buffer.byteLength(payload) + Buffer.byteLength(headers ?? '') + Buffer.byteLength(key ?? '')
    : 0

/** An empty payload may have been omitted. Few payloads are empty, so only those are looked up. */
async function withOmitted(
  tx: Transaction,
  topic: TopicRecord,
  messages: readonly RawMessage[],
  maxPayloadBytes: number | undefined,
): Promise<readonly RawMessage[]> {
  const empty = messages.filter(({ payload }) => payload.length === 0)
  if (maxPayloadBytes === undefined || empty.length === 0) return messages
  const rows = await tx.query(
    tx.sql(`
      select l.id, octet_length(l.payload) + coalesce(octet_length(l.headers), 0) + coalesce(octet_length(l.key), 0) as bytes
      from unnest($1::bigint[]) as wanted (id)
      cross join lateral (select * from tidemark.log_${topic.id} as m where m.id = wanted.id limit 1) as l`),
    [empty.map(({ id }) => id)],
  )
  const sizes = new Map(rows.map(({ id, bytes }) => [Number(id), Number(bytes)]))
  return messages.map(message => {
    const bytes = message.payload.length === 0 ? (sizes.get(message.id) ?? 0) : 0
    return bytes > maxPayloadBytes ? withoutPayload(message, bytes) : message
  })
}

const withoutPayload = (message: RawMessage, omittedBytes: number): RawMessage => {
  const { id, salt, payload, type, key, headers, messageId, createdAt } = message
  return { id, salt, payload, type, key, headers, messageId, createdAt, omittedBytes }
}

export async function tail(
  tx: Transaction,
  topic: TopicRecord,
  place: string | null,
  limit: number,
  { maxBytes, maxPayloadBytes }: ByteBounds,
): Promise<TailPage> {
  const values = [topic.id, place, limit, maxBytes ?? null, maxPayloadBytes ?? null]
  const [row] = await tx.query(tx.sql(TAIL), values)
  if (!row?.place) throw DatabaseRewoundError.ofTail(tx.location, topic.name)
  const messages = await withOmitted(tx, topic, decodePage(row) ?? [], maxPayloadBytes)
  return { messages, place: row.place }
}

export async function find(tx: Transaction, topic: TopicRecord, messageId: string): Promise<number | undefined> {
  const found = await findMessage(tx, topic, messageId)
  return found === undefined ? undefined : Number(found)
}
