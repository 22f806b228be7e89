import type { TopicRecord } from '../topic-record.ts'
import { heldIds } from './held-ids.ts'
import { requiredRow, rowsOf } from './rows.ts'
import { logTable, trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

type Fill = { fill_next_id: number | null; fill_last_id: number }

type Group = { id: number; bit: number; cursor: number; start_id: number; lower_id: number | null; upper_id: number }

/**
 * Fills one page of retained messages: what a group has passed and doesn't hold is completed. Bits are only set, never
 * cleared.
 */
export function fillTracking(tx: Transaction, topic: TopicRecord, limit: number): boolean {
  const fill = requiredRow<Fill>(
    tx.prepare('select fill_next_id, fill_last_id from tidemark_topic where id = ?'),
    topic.id,
  )
  if (fill.fill_next_id === null) return false
  const upTo = Math.min(fill.fill_next_id + limit - 1, fill.fill_last_id)
  const groups = rowsOf<Group>(
    tx.prepare(`
      select s.id, s.bit, s.cursor, s.start_id, b.lower_id, b.upper_id
      from tidemark_subscription s
      left join tidemark_backfill b on b.subscription_id = s.id
      where s.topic_id = ? and s.bit is not null and s.status in ('ACTIVE', 'PAUSED')`),
    topic.id,
  )
  fillNobodys(tx, topic.id, fill.fill_next_id, upTo)
  for (const group of groups) fillGroup(tx, topic.id, group, fill.fill_next_id, upTo)
  const isDone = upTo >= fill.fill_last_id
  tx.prepare('update tidemark_topic set fill_next_id = ?, fill_last_id = ? where id = ?').run(
    isDone ? null : upTo + 1,
    isDone ? null : fill.fill_last_id,
    topic.id,
  )
  return !isDone
}

/** A message that no group requires gets a row too, as if it were published now. */
function fillNobodys(tx: Transaction, topicId: number, first: number, last: number): void {
  tx.prepare(`
      insert or ignore into ${trackTable(topicId)} (id)
      select id from ${logTable(topicId)} where id between ? and ?`).run(first, last)
}

function fillGroup(tx: Transaction, topicId: number, group: Group, first: number, last: number): void {
  const held = JSON.stringify(heldIds(tx, group.id, first, last))
  tx.prepare(`
      insert into ${trackTable(topicId)} as t (id, required, completed)
      select id, 1 << ?1, case when id <= ?2 and id not in (select value from json_each(?6)) then 1 << ?1 else 0 end
      from ${logTable(topicId)}
      -- what a backfill covers is its own
      where id between max(?3, ?5 + 1) and ?4 and (?7 is null or id not between ?7 + 1 and ?8)
      on conflict do update set required = required | excluded.required, completed = completed | excluded.completed`).run(
    group.bit,
    group.cursor,
    first,
    last,
    group.start_id,
    held,
    group.lower_id,
    group.upper_id ?? null,
  )
}
