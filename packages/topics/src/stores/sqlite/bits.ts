import { TooManyGroupsError } from '../../errors.ts'
import type { SubscriptionStatus, TopicRecord } from '../store.ts'
import { type Connection, requiredRow, rowOf } from './connection.ts'
import { noteDone, noteHeld } from './done-ranges.ts'
import { openBackfill } from './loss.ts'
import type { Prepare } from './publish.ts'
import { trackTable } from './topics.ts'

export const MOST_BITS = 64
/** Fewer free bits than this, and groups that have ended give up theirs. */
const SPARE_BITS = 16

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
function freeBit(connection: Connection, topicId: number): number | undefined {
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

/** For a group that has none. */
export function takeBit(
  connection: Connection,
  { topic_id, name }: { readonly topic_id: number; readonly name: string },
  subscriptionId: number,
): number {
  const bit = freeBit(connection, topic_id)
  if (bit === undefined) throw new TooManyGroupsError(name, wipingBits(connection, topic_id))
  connection.prepare('update tidemark_subscription set bit = ? where id = ?').run(bit, subscriptionId)
  return bit
}

function wipingBits(connection: Connection, topicId: number): number {
  const count = connection.prepare('select count(*) as wiping from tidemark_bit_wipe where topic_id = ?')
  return requiredRow<{ wiping: number }>(count, topicId).wiping
}

type Ended = { id: number; topic_id: number; bit: number; cleared_id: number; status: SubscriptionStatus }
type Wipe = { topic_id: number; bit: number; next_id: number }

/**
 * One page, of the first group that is DEAD or CANCELLED and not finished, else of the first bit to be wiped. Else, where a
 * topic has few bits left, a group that has ended gives up its own: who has done what is known for as long as there is room.
 */
export async function clearBits(connection: Connection, limit: number): Promise<{ cleared: number; more: boolean }> {
  const [isWaiting] = await connection.retryWhileBusy(() => [
    findEnded(connection) ?? findWipe(connection) ?? findReleasable(connection),
  ])
  if (isWaiting === undefined) return { cleared: 0, more: false }
  return await connection.write(true, () => {
    const ended = findEnded(connection)
    if (ended) return { cleared: clearEnded(connection, ended, limit), more: true }
    const wipe = findWipe(connection)
    if (wipe) return { cleared: wipePage(connection, wipe, limit), more: true }
    const releasable = findReleasable(connection)
    if (releasable) release(connection, releasable)
    return { cleared: 0, more: releasable !== undefined }
  })
}

const findEnded = (connection: Connection): Ended | undefined =>
  rowOf<Ended>(
    connection.prepare(`
      select id, topic_id, bit, cleared_id, status from tidemark_subscription
      where bit is not null and status in ('DEAD', 'CANCELLED') and cleared_epoch < epoch
      order by id
      limit 1`),
  )

const findWipe = (connection: Connection): Wipe | undefined =>
  rowOf<Wipe>(connection.prepare('select topic_id, bit, next_id from tidemark_bit_wipe order by topic_id, bit limit 1'))

/** A cancelled one first: it never comes back. */
const findReleasable = (connection: Connection): (Place & { id: number }) | undefined =>
  rowOf<Place & { id: number }>(
    connection.prepare(`
      select s.id, s.topic_id, s.bit from tidemark_subscription s
      where s.bit is not null and s.status in ('DEAD', 'CANCELLED') and s.cleared_epoch = s.epoch
        and (select count(*) from tidemark_subscription x where x.topic_id = s.topic_id and x.bit is not null)
          + (select count(*) from tidemark_bit_wipe w where w.topic_id = s.topic_id) > ?
      order by s.status = 'DEAD', s.status_at
      limit 1`),
    MOST_BITS - SPARE_BITS,
  )

function release(connection: Connection, { id }: { readonly id: number }): void {
  wipeBitOf(connection, id)
  connection.prepare('update tidemark_subscription set bit = null where id = ?').run(id)
}

/** The group's bit, if it has one, is not given out again before it is wiped from every row that is kept. */
export function wipeBitOf(connection: Connection, subscriptionId: number): void {
  connection
    .prepare(`
      insert or ignore into tidemark_bit_wipe (topic_id, bit, next_id, last_id)
      select s.topic_id, s.bit, t.first_id, t.next_id - 1
      from tidemark_subscription s
      join tidemark_topic t on t.id = s.topic_id
      where s.id = ? and s.bit is not null`)
    .run(subscriptionId)
}

function clearEnded(connection: Connection, ended: Ended, limit: number): number {
  const { id, topic_id, bit, cleared_id } = ended
  const upTo = pageEnd(connection, topic_id, cleared_id, limit)
  if (ended.status === 'DEAD') noteUndelivered(connection, ended, upTo)
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

/** Of a group that may come back before its backfill was delivered: what lies beyond and is done must not come twice. */
function noteUndelivered(connection: Connection, { id, topic_id, bit, cleared_id }: Ended, upTo: number | null): void {
  const backfill = openBackfill(connection, id)
  if (backfill === undefined) return
  // What it holds when this begins is all that can still be settled.
  if (cleared_id === 0) noteHeld(connection, { id, bit }, backfill.cursor_id)
  if (upTo !== null) noteDone(connection, topic_id, { id, bit }, Math.max(cleared_id, backfill.cursor_id), upTo)
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
