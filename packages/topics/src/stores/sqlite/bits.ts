import { TooManyGroupsError } from '../../errors.ts'
import type { TopicRecord } from '../topic-record.ts'
import { requiredRow, rowOf } from './rows.ts'
import { trackTable } from './topic-rows.ts'
import type { Prepare, Transaction } from './transaction.ts'

export const MOST_BITS = 64

// All bitmap arithmetic happens in SQL: JavaScript numbers cannot hold bit 63 exactly.

/**
 * Records which groups require the messages, with one sub-select per statement. Call it in the publishing transaction.
 */
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

/** A group's bit in the bitmaps; `bit` is null in a topic that is tracked by offset. */
export type GroupBit = { readonly topic_id: number; readonly bit: number | null }

/** Records that the group has completed this page, in one statement. */
export function completeRange(tx: Transaction, { topic_id, bit }: GroupBit, first: number, last: number): void {
  if (bit === null) return
  tx.prepare(`
      update ${trackTable(topic_id)}
      set required = required | (1 << ?1), completed = completed | (1 << ?1)
      where id between ?2 and ?3 and (required & completed) & (1 << ?1) = 0`).run(bit, first, last)
}

export function completeIds(tx: Transaction, { topic_id, bit }: GroupBit, ids: readonly number[]): void {
  if (bit === null || ids.length === 0) return
  tx.prepare(`
      update ${trackTable(topic_id)}
      set required = required | (1 << ?1), completed = completed | (1 << ?1)
      where id in (select value from json_each(?2)) and (required & completed) & (1 << ?1) = 0`).run(
    bit,
    JSON.stringify(ids),
  )
}

/**
 * Messages that the group was moved past, up to `last`, are no longer required of it; otherwise they would be kept
 * until the cap.
 */
export function unrequire(tx: Transaction, { topic_id, bit }: GroupBit, last: number): void {
  if (bit === null) return
  tx.prepare(`
      update ${trackTable(topic_id)} set required = required & ~(1 << ?1)
      where id <= ?2 and required & ~completed & (1 << ?1) <> 0`).run(bit, last)
}

/** The lowest bit that is not assigned and has no traces of a removed group left. */
function freeBit(tx: Transaction, topicId: number): number | undefined {
  return rowOf<{ bit: number }>(
    tx.prepare(`
      with recursive every(bit) as (select 0 union all select bit + 1 from every where bit < 63)
      select bit from every
      where bit not in (select bit from tidemark_subscription where topic_id = ?1 and bit is not null)
        and bit not in (select bit from tidemark_bit_wipe where topic_id = ?1)
      order by bit
      limit 1`),
    topicId,
  )?.bit
}

/** Assigns a bit to a group that has none. */
export function takeBit(
  tx: Transaction,
  { topic_id, name }: { readonly topic_id: number; readonly name: string },
  subscriptionId: number,
): number {
  const bit = freeBit(tx, topic_id)
  if (bit === undefined) throw new TooManyGroupsError(name, wipingBits(tx, topic_id))
  tx.prepare('update tidemark_subscription set bit = ? where id = ?').run(bit, subscriptionId)
  return bit
}

function wipingBits(tx: Transaction, topicId: number): number {
  const count = tx.prepare('select count(*) as wiping from tidemark_bit_wipe where topic_id = ?')
  return requiredRow<{ wiping: number }>(count, topicId).wiping
}

/** Keeps the group's bit, if it has one, from being reassigned before it is cleared from every retained row. */
export function wipeBitOf(tx: Transaction, subscriptionId: number): void {
  tx.prepare(`
      insert or ignore into tidemark_bit_wipe (topic_id, bit, next_id, last_id)
      select s.topic_id, s.bit, t.first_id, t.next_id - 1
      from tidemark_subscription s
      join tidemark_topic t on t.id = s.topic_id
      where s.id = ? and s.bit is not null`).run(subscriptionId)
}
