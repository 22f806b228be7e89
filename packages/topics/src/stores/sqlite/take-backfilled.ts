import type { SubscriptionStatus } from '../subscription-record.ts'
import { undoneIds } from './done-ranges.ts'
import { heldIds } from './held-ids.ts'
import { lastOf, type OpenBackfill } from './loss.ts'
import { rowOf, rowsOf } from './rows.ts'
import { trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** Maximum number of ids scanned by one claim. */
const LOOKED_AT = 50_000

type Take = {
  readonly token: string | null
  readonly limit: number
  /** How many of these messages fit into one claim. */
  readonly fits: (ids: readonly number[]) => number
  readonly now: number
}

type Backfilled = { readonly ids: readonly number[]; readonly more: boolean }

/** Whether there may be something to claim, or the backfill's end to record. */
export function hasBackfilled(tx: Transaction, subscriptionId: number): boolean {
  const row = rowOf<{ found: number }>(
    tx.prepare(`
      select exists (
        select 1 from tidemark_backfill where subscription_id = ? and (cursor_id < checkpoint_id or status <> 'RUNNING')
      ) as found`),
    subscriptionId,
  )
  return row?.found === 1
}

/**
 * Turns the next page of a backfill into retry rows, held by the claim's lease or, without a token, due at once. Skips
 * what the group already holds; the holder will process it.
 */
export function takeBackfilled(tx: Transaction, subscriptionId: number, { token, limit, fits, now }: Take): Backfilled {
  const row = rowOf<Taken>(
    tx.prepare(`
      select b.topic_id, s.bit, b.status, b.cursor_id, b.checkpoint_id, b.upper_id, s.status as group_status
      from tidemark_backfill b
      join tidemark_subscription s on s.id = b.subscription_id
      where b.subscription_id = ?`),
    subscriptionId,
  )
  if (row === undefined) return { ids: [], more: false }
  const { status, cursor_id } = row
  const last = row.group_status === 'DEAD' ? lastOf(row) : row.checkpoint_id
  let upTo = Math.min(last, cursor_id + Math.max(limit, LOOKED_AT))
  const all = idsToTake(tx, subscriptionId, row, upTo, limit)
  const ids = all.slice(0, fits(all))
  upTo = all.length === limit || ids.length < all.length ? (ids.at(-1) ?? upTo) : upTo
  const isLeased = token === null ? 0 : 1
  const hold = tx.prepare(`
    insert into tidemark_retry (subscription_id, id, attempts, version, due_at, suspect, history, token, slot)
    values (?1, ?2, ?3, ?3, ?4, 0, '[]', ?5, ?6)`)
  for (const [slot, id] of ids.entries()) hold.run(subscriptionId, id, isLeased, now, token, isLeased ? slot : null)
  tx.prepare(
    'update tidemark_backfill set cursor_id = ?1, checkpoint_id = max(checkpoint_id, ?1) where subscription_id = ?2',
  ).run(upTo, subscriptionId)
  const more = upTo < last
  if (!more && status !== 'RUNNING') {
    tx.prepare('update tidemark_subscription set backfilling = 0 where id = ?').run(subscriptionId)
  }
  return { ids, more }
}

type Taken = OpenBackfill & { topic_id: number; bit: number | null; group_status: SubscriptionStatus }

/** The bits of a dead group are no longer valid once its topic leaves reference tracking. */
function idsToTake(
  tx: Transaction,
  subscriptionId: number,
  { topic_id, bit, cursor_id, group_status }: Taken,
  upTo: number,
  limit: number,
): number[] {
  if (group_status === 'DEAD') {
    return undoneIds(tx, topic_id, { id: subscriptionId, bit }, { after: cursor_id, last: upTo, limit })
  }
  return rowsOf<{ id: number }>(
    tx.prepare(`
      select t.id from ${trackTable(topic_id)} t
      where t.id > ?2 and t.id <= ?3 and t.required & ~t.completed & (1 << ?1) <> 0
        and t.id not in (select value from json_each(?4))
      order by t.id
      limit ?5`),
    bit,
    cursor_id,
    upTo,
    JSON.stringify(heldIds(tx, subscriptionId, cursor_id + 1, upTo)),
    limit,
  ).map(({ id }) => id)
}
