import { heldIds } from './held-ids.ts'
import { requiredRow, rowsOf } from './rows.ts'
import { trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

type Group = { readonly id: number; readonly bit: number | null }

/**
 * Whether one of the group's done ranges contains the id; `group` and `id` are SQL. A function declaration, because
 * backfills.ts needs it and is loaded first.
 */
export function isInDoneRange(group: string, id: string): string {
  return `
  exists (select 1 from tidemark_done_range r where r.subscription_id = ${group} and r.last_id >= ${id} and r.first_id <= ${id})`
}

/**
 * The condition that a message `m.id`, with its bitmaps `t`, is neither completed nor held: ?1 the bit, ?2 the group,
 * ?5 the held ids.
 */
const UNDONE = `
  (?1 is null or coalesce(t.completed, 0) & (1 << ?1) = 0)
    and not ${isInDoneRange('?2', 'm.id')}
    and m.id not in (select value from json_each(?5))`

const undone = (topicId: number, what: string, limit = ''): string => `
  with recursive message(id) as (select ?3 + 1 where ?3 < ?4 union all select id + 1 from message where id < ?4)
  select ${what} from message m
  left join ${trackTable(topicId)} t on t.id = m.id
  where ${UNDONE} ${limit}`

/** Messages after `after`, up to `last`, that the group has neither completed nor holds. Ids have no gaps. */
export function countUndone(tx: Transaction, topicId: number, group: Group, after: number, last: number): number {
  if (after >= last) return 0
  const held = JSON.stringify(heldIds(tx, group.id, after + 1, last))
  const count = tx.prepare(undone(topicId, 'count(*) as count'))
  return requiredRow<{ count: number }>(count, group.bit, group.id, after, last, held).count
}

export function undoneIds(
  tx: Transaction,
  topicId: number,
  group: Group,
  { after, last, limit }: { after: number; last: number; limit: number },
): number[] {
  const held = JSON.stringify(heldIds(tx, group.id, after + 1, last))
  const ids = tx.prepare(undone(topicId, 'm.id', 'order by m.id limit ?6'))
  return rowsOf<{ id: number }>(ids, group.bit, group.id, after, last, held, limit).map(({ id }) => id)
}

/** Records which of these ids the group has completed, according to the bitmaps. */
export function noteDone(tx: Transaction, topicId: number, { id, bit }: Group, after: number, last: number): void {
  tx.prepare(`
      insert or ignore into tidemark_done_range (subscription_id, first_id, last_id)
      select ?1, min(id), max(id) from (
        select id, done, row_number() over (order by id) - row_number() over (partition by done order by id) as island
        from (select id, (completed >> ?2) & 1 as done from ${trackTable(topicId)} where id > ?3 and id <= ?4)
      )
      where done
      group by island`).run(id, bit, after, last)
}

/** Their holders will process them. */
export function noteHeld(tx: Transaction, { id }: Group, after: number): void {
  const held = heldIds(tx, id, after + 1, Number.MAX_SAFE_INTEGER)
  tx.prepare(`
      insert or ignore into tidemark_done_range (subscription_id, first_id, last_id)
      select ?1, min(id), max(id)
      from (select value as id, value - row_number() over (order by value) as island from json_each(?2))
      group by island`).run(id, JSON.stringify(held))
}

/** Copies what a resurrected group had already completed into its new bit. */
export function markDone(tx: Transaction, topicId: number, { id, bit }: Group, after: number, last: number): void {
  const [noted] = rowsOf(tx.prepare('select 1 from tidemark_done_range where subscription_id = ? limit 1'), id)
  if (noted === undefined) return
  tx.prepare(`
      with recursive message(id) as (select ?3 + 1 where ?3 < ?4 union all select id + 1 from message where id < ?4)
      insert into ${trackTable(topicId)} as kept (id, required, completed)
      select m.id, 1 << ?1, 1 << ?1 from message m
      where ${isInDoneRange('?2', 'm.id')} and m.id not in (select value from json_each(?5))
      on conflict do update set required = required | (1 << ?1), completed = completed | (1 << ?1)`).run(
    bit,
    id,
    after,
    last,
    JSON.stringify(heldIds(tx, id, after + 1, last)),
  )
}

export function forgetDone(tx: Transaction, subscriptionId: number): void {
  tx.prepare('delete from tidemark_done_range where subscription_id = ?').run(subscriptionId)
}
