import type { TopicRecord } from '../store.ts'
import { type Connection, requiredRow, rowOf } from './connection.ts'
import type { Prepare } from './publish.ts'
import { trackTable } from './topics.ts'

// All arithmetic on bitmaps is done in SQL: bit 63 is beyond what a number of JavaScript holds exactly.

/** One sub-select a statement says which groups the messages are for; to be called in the publishing transaction. */
export function requireBits(prepare: Prepare, topic: TopicRecord, first: number, last: number): void {
  if (last >= first) prepare(requireBitsText(topic)).run(topic.id, first, last)
}

export const requireBitsText = ({ id }: TopicRecord): string => `
  with recursive
    live(bits) as materialized (
      select coalesce(sum(1 << bit), 0) from tidemark_subscription where topic_id = ?1 and status in ('ACTIVE', 'PAUSED')
    ),
    message(id) as (select ?2 union all select id + 1 from message where id < ?3)
  insert into ${trackTable(id)} (id, required, completed)
  select message.id, live.bits, 0 from message, live`

/** A group's place in the bitmaps; `bit` is null in a topic that is tracked by offset. */
export type Place = { readonly topic_id: number; readonly bit: number | null }

/** The group has done this page, in one statement. */
export function completeRange(connection: Connection, { topic_id, bit }: Place, first: number, last: number): void {
  if (bit === null) return
  connection
    .prepare(`
      update ${trackTable(topic_id)}
      set required = required | (1 << ?1), completed = completed | (1 << ?1)
      where id between ?2 and ?3 and (required & completed) & (1 << ?1) = 0`)
    .run(bit, first, last)
}

export function completeIds(connection: Connection, { topic_id, bit }: Place, ids: readonly number[]): void {
  if (bit === null || ids.length === 0) return
  connection
    .prepare(`
      update ${trackTable(topic_id)}
      set required = required | (1 << ?1), completed = completed | (1 << ?1)
      where id in (select value from json_each(?2)) and (required & completed) & (1 << ?1) = 0`)
    .run(bit, JSON.stringify(ids))
}

/** What the group was moved past, up to `last`, is no longer required of it: otherwise it would be kept until the cap. */
export function unrequire(connection: Connection, { topic_id, bit }: Place, last: number): void {
  if (bit === null) return
  connection
    .prepare(`
      update ${trackTable(topic_id)} set required = required & ~(1 << ?1)
      where id <= ?2 and required & ~completed & (1 << ?1) <> 0`)
    .run(bit, last)
}

/** The lowest bit that no group has and that no removed group's traces keep. */
export function freeBit(connection: Connection, topicId: number): number | undefined {
  return rowOf<{ bit: number }>(
    connection.prepare(`
      with recursive every(bit) as (select 0 union all select bit + 1 from every where bit < 63)
      select bit from every
      where bit not in (select bit from tidemark_subscription where topic_id = ?1 and bit is not null)
        and bit not in (select bit from tidemark_bit_wipe where topic_id = ?1)
      order by bit
      limit 1`),
    topicId,
  )?.bit
}

export function wipingBits(connection: Connection, topicId: number): number {
  const count = connection.prepare('select count(*) as wiping from tidemark_bit_wipe where topic_id = ?')
  return requiredRow<{ wiping: number }>(count, topicId).wiping
}

type Ended = { id: number; topic_id: number; bit: number; cleared_id: number }
type Wipe = { topic_id: number; bit: number; next_id: number }

/** One page, of the first group that is DEAD or CANCELLED and not finished, else of the first that was removed. */
export async function clearBits(connection: Connection, limit: number): Promise<{ cleared: number; more: boolean }> {
  const [isWaiting] = await connection.retryWhileBusy(() => [findEnded(connection) ?? findWipe(connection)])
  if (isWaiting === undefined) return { cleared: 0, more: false }
  return await connection.write(true, () => {
    const ended = findEnded(connection)
    if (ended) return { cleared: clearEnded(connection, ended, limit), more: true }
    const wipe = findWipe(connection)
    return wipe ? { cleared: wipePage(connection, wipe, limit), more: true } : { cleared: 0, more: false }
  })
}

const findEnded = (connection: Connection): Ended | undefined =>
  rowOf<Ended>(
    connection.prepare(`
      select id, topic_id, bit, cleared_id from tidemark_subscription
      where bit is not null and status in ('DEAD', 'CANCELLED') and cleared_epoch < epoch
      order by id
      limit 1`),
  )

const findWipe = (connection: Connection): Wipe | undefined =>
  rowOf<Wipe>(connection.prepare('select topic_id, bit, next_id from tidemark_bit_wipe order by topic_id, bit limit 1'))

function clearEnded(connection: Connection, { id, topic_id, bit, cleared_id }: Ended, limit: number): number {
  const upTo = pageEnd(connection, topic_id, cleared_id, limit)
  connection
    .prepare(`
      update tidemark_subscription
      set cleared_id = coalesce(?2, 0), cleared_epoch = case when ?2 is null then epoch else cleared_epoch end
      where id = ?1`)
    .run(id, upTo)
  if (upTo === null) return 0
  const { changes } = connection
    .prepare(`
      update ${trackTable(topic_id)} set required = required & ~(1 << ?1)
      where id > ?2 and id <= ?3 and required & ~completed & (1 << ?1) <> 0`)
    .run(bit, cleared_id, upTo)
  return Number(changes)
}

function wipePage(connection: Connection, { topic_id, bit, next_id }: Wipe, limit: number): number {
  const upTo = pageEnd(connection, topic_id, next_id - 1, limit)
  if (upTo === null) {
    connection.prepare('delete from tidemark_bit_wipe where topic_id = ? and bit = ?').run(topic_id, bit)
    return 0
  }
  connection
    .prepare('update tidemark_bit_wipe set next_id = ? where topic_id = ? and bit = ?')
    .run(upTo + 1, topic_id, bit)
  const { changes } = connection
    .prepare(`
      update ${trackTable(topic_id)} set required = required & ~(1 << ?1), completed = completed & ~(1 << ?1)
      where id between ?2 and ?3 and (required | completed) & (1 << ?1) <> 0`)
    .run(bit, next_id, upTo)
  return Number(changes)
}

/** null where there is nothing after. */
function pageEnd(connection: Connection, topicId: number, after: number, limit: number): number | null {
  const { last } = requiredRow<{ last: number | null }>(
    connection.prepare(
      `select max(id) as last from (select id from ${trackTable(topicId)} where id > ? order by id limit ?)`,
    ),
    after,
    limit,
  )
  return last
}
