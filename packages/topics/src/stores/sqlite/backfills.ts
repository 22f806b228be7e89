import { BackfillError, InvalidTransitionError, SubscriptionGoneError } from '../../errors.ts'
import type { BackfillBatch, BackfillPlan, BackfillRecord, BackfillStatus } from '../fan-out-store.ts'
import type { StartPosition, SubscriptionRecord, SubscriptionRef, SubscriptionStatus, TopicRecord } from '../store.ts'
import { type BackfillRow, toBackfillRecord } from './backfill-record.ts'
import { takeBit } from './bits.ts'
import { type Connection, requiredRow, rowOf, rowsOf } from './connection.ts'
import { countUndone, forgetDone, isInDoneRange, markDone, undoneIds } from './done-ranges.ts'
import { lastOf, type OpenBackfill } from './loss.ts'
import { cursorAt } from './subscriptions.ts'
import { logTable, trackTable } from './topics.ts'
import { heldIds } from './tracking.ts'

/** Ids that one claim looks at, at most. */
const LOOKED_AT = 50_000

type Begin = {
  /** The highest id that is not wanted. */
  readonly lowerId: number
  readonly plan: BackfillPlan
  /** Deliver again what the group has done already. */
  readonly again: boolean
}

type Place = {
  topic_id: number
  name: string
  epoch: number
  bit: number | null
  first_id: number
  next_id: number
  cursor_id: number | null
  checkpoint_id: number
  status: BackfillStatus
}

/**
 * Moves the group's live cursor to the present, and begins a backfill of what lies between. An earlier one that was not
 * delivered is taken along, unless the group is to get `again` what it has done. Returns how many messages the limit left
 * out. To be called in a write transaction, in a topic that is tracked by reference.
 */
export function beginBackfill(connection: Connection, subscriptionId: number, { lowerId, plan, again }: Begin): number {
  const place = requiredRow<Place>(
    connection.prepare(`
      select s.topic_id, t.name, s.epoch, s.bit, t.first_id, t.next_id, b.cursor_id, b.checkpoint_id, b.status
      from tidemark_subscription s
      join tidemark_topic t on t.id = s.topic_id
      left join tidemark_backfill b on b.subscription_id = s.id
      where s.id = ?`),
    subscriptionId,
  )
  const bit = place.bit ?? takeBit(connection, place, subscriptionId)
  if (again) forgetDone(connection, subscriptionId)
  const isEarlierOpen =
    place.cursor_id !== null && (place.status === 'RUNNING' || place.cursor_id < place.checkpoint_id)
  const upper = place.next_id - 1
  const wanted = isEarlierOpen && !again ? Math.min(lowerId, place.cursor_id ?? lowerId) : lowerId
  const lowest = Math.max(wanted, place.first_id - 1)
  const lower = plan.maxMessages === null ? lowest : Math.max(lowest, upper - plan.maxMessages)
  const skipped = countUndone(connection, place.topic_id, { id: subscriptionId, bit: place.bit }, lowest, lower)
  const isEmpty = lower >= upper
  const now = connection.now()
  const { batchSize, maxPerSecond, targetMs } = plan
  connection
    .prepare(`
      insert or replace into tidemark_backfill (
        subscription_id, topic_id, epoch, status, scope, settings, lower_id, upper_id, checkpoint_id, cursor_id,
        started_at, updated_at, ended_at
      )
      values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?7, ?7, ?9, ?9, ?10)`)
    .run(
      ...[subscriptionId, place.topic_id, place.epoch, isEmpty ? 'COMPLETED' : 'RUNNING', plan.scope],
      ...[JSON.stringify({ batchSize, maxPerSecond, targetMs, again }), lower, Math.max(lower, upper), now],
      isEmpty ? now : null,
    )
  connection
    .prepare(`
      update tidemark_subscription
      set bit = ?2, cursor = ?3, moved_at = ?4, backfilling = ?5, cleared_id = 0
      where id = ?1`)
    .run(subscriptionId, bit, upper, now, isEmpty ? 0 : 1)
  requireHeld(connection, subscriptionId, place.topic_id, bit, upper)
  return skipped
}

/** What the group still holds from before is its own, though the dead clean-up may have taken its bit. */
function requireHeld(connection: Connection, subscriptionId: number, topicId: number, bit: number, last: number): void {
  const held = heldIds(connection, subscriptionId, 1, last)
  if (held.length === 0) return
  connection
    .prepare(`
      insert into ${trackTable(topicId)} (id, required)
      select l.id, 1 << ?1 from ${logTable(topicId)} l where l.id in (select value from json_each(?2))
      on conflict do update set required = required | excluded.required`)
    .run(bit, JSON.stringify(held))
}

export async function startBackfill(
  connection: Connection,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  from: StartPosition,
  plan: BackfillPlan,
): Promise<BackfillRecord> {
  return await connection.writeUnlessHeld(() => {
    const { group } = subscription
    const row = rowOf<{ status: SubscriptionStatus; bit: number | null; cursor: number; next_id: number }>(
      connection.prepare(`
        select s.status, s.bit, s.cursor, t.next_id
        from tidemark_subscription s
        join tidemark_topic t on t.id = s.topic_id
        where s.id = ?`),
      subscription.id,
    )
    if (row === undefined) throw new SubscriptionGoneError(topic.name, group)
    if (row.status === 'CANCELLED') throw new InvalidTransitionError(topic.name, group, 'CANCELLED', 'ACTIVE')
    if (row.status === 'DEAD') throw BackfillError.ofDeadGroup(topic.name, group)
    if (row.bit === null) throw BackfillError.ofOffsetTopic(topic.name, group)
    const earlier = findBackfill(connection, subscription.id)
    if (earlier && (earlier.status === 'RUNNING' || earlier.cursorId < earlier.checkpointId)) {
      throw BackfillError.unfinished(topic.name, group)
    }
    // What the live cursor has still to come to comes with the backfill: neither position nor limit may cut it off.
    const lowerId = Math.min(cursorAt(connection, topic, from), row.cursor)
    const behind = row.next_id - 1 - row.cursor
    const maxMessages = plan.maxMessages === null ? null : Math.max(plan.maxMessages, behind)
    beginBackfill(connection, subscription.id, {
      lowerId,
      plan: { ...plan, maxMessages },
      again: plan.scope === 'retained',
    })
    return requiredBackfill(connection, topic, subscription)
  })
}

export async function takeBackfill(
  connection: Connection,
  token: string,
  ttlMs: number,
  subscriptionId?: number,
): Promise<BackfillRecord | null> {
  return await connection.write(true, () => {
    const now = connection.now()
    const free = rowOf<{ id: number }>(
      connection.prepare(`
        select b.subscription_id as id
        from tidemark_backfill b
        join tidemark_subscription s on s.id = b.subscription_id and s.status in ('ACTIVE', 'PAUSED')
        where b.status = 'RUNNING' and coalesce(b.lease_until, 0) < ?1 and (?2 is null or b.subscription_id = ?2)
        order by b.started_at
        limit 1`),
      now,
      subscriptionId ?? null,
    )
    if (free === undefined) return null
    connection
      .prepare('update tidemark_backfill set token = ?, lease_until = ?, updated_at = ? where subscription_id = ?')
      .run(token, now + ttlMs, now, free.id)
    return findBackfill(connection, free.id) ?? null
  })
}

type Running = Pick<BackfillRow, 'topic_id' | 'scope' | 'settings' | 'upper_id' | 'checkpoint_id'> & {
  bit: number
  fill_next_id: number | null
}

export async function backfillBatch(
  connection: Connection,
  subscriptionId: number,
  { token, limit, ttlMs }: BackfillBatch,
): Promise<BackfillRecord | 'lost'> {
  return await connection.write(true, () => {
    const running = rowOf<Running>(
      connection.prepare(`
        select b.topic_id, b.scope, b.settings, b.upper_id, b.checkpoint_id, s.bit, t.fill_next_id
        from tidemark_backfill b
        -- of a group that has died meanwhile nothing is marked: its bits are being cleared
        join tidemark_subscription s on s.id = b.subscription_id and s.status in ('ACTIVE', 'PAUSED')
        join tidemark_topic t on t.id = b.topic_id
        where b.subscription_id = ? and b.token = ? and b.status = 'RUNNING'`),
      subscriptionId,
      token,
    )
    if (running === undefined) return 'lost'
    const upTo = Math.min(running.checkpoint_id + limit, running.upper_id)
    markDone(connection, running.topic_id, { id: subscriptionId, bit: running.bit }, running.checkpoint_id, upTo)
    const marked = markBatch(connection, subscriptionId, running, upTo)
    const isDone = upTo >= running.upper_id
    if (isDone) forgetDone(connection, subscriptionId)
    const now = connection.now()
    connection
      .prepare(`
        update tidemark_backfill
        set checkpoint_id = ?2, processed = processed + ?3, updated_at = ?4,
          status = case when ?5 then 'COMPLETED' else status end, ended_at = case when ?5 then ?4 end,
          token = case when ?5 then null else token end, lease_until = case when ?5 then null else ?6 end
        where subscription_id = ?1`)
      .run(subscriptionId, upTo, marked, now, isDone ? 1 : 0, now + ttlMs)
    return findBackfill(connection, subscriptionId) ?? 'lost'
  })
}

/**
 * Whether a message is one of the backfill's: ?1 the group's bit, ?4 all that is retained, ?5 again what it has done, ?6 where
 * the filling is, ?7 the group. A row of the bitmaps that is not there was done before tracking began, unless the filling
 * has yet to come to it.
 */
export const WANTED = `
  (?4 or case when t.id is null then l.id >= ?6 else t.required & ~t.completed <> 0 or t.required = 0 end)
  and (?5 or t.id is null or t.completed & (1 << ?1) = 0)
  and not ${isInDoneRange('?7', 'l.id')}`

function markBatch(connection: Connection, subscriptionId: number, running: Running, upTo: number): number {
  const { topic_id, scope, settings, checkpoint_id, bit, fill_next_id } = running
  const { again } = JSON.parse(settings) as { again: boolean }
  const { changes } = connection
    .prepare(`
      insert into ${trackTable(topic_id)} as kept (id, required, completed)
      select l.id, 1 << ?1, 0
      from ${logTable(topic_id)} l
      left join ${trackTable(topic_id)} t on t.id = l.id
      where l.id > ?2 and l.id <= ?3
        and ${WANTED}
      on conflict do update set required = required | (1 << ?1), completed = completed & ~(1 << ?1)`)
    .run(
      ...[bit, checkpoint_id, upTo, scope === 'retained' ? 1 : 0, again ? 1 : 0],
      ...[fill_next_id ?? Number.MAX_SAFE_INTEGER, subscriptionId],
    )
  return Number(changes)
}

type Take = {
  readonly token: string | null
  readonly limit: number
  /** How many of these messages one claim has room for. */
  readonly fits: (ids: readonly number[]) => number
  readonly now: number
}
type Backfilled = { readonly ids: readonly number[]; readonly more: boolean }

/** There may be something to claim, or to note that there is nothing more. */
export function hasBackfilled(connection: Connection, subscriptionId: number): boolean {
  const row = rowOf<{ found: number }>(
    connection.prepare(`
      select exists (
        select 1 from tidemark_backfill where subscription_id = ? and (cursor_id < checkpoint_id or status <> 'RUNNING')
      ) as found`),
    subscriptionId,
  )
  return row?.found === 1
}

/**
 * The next page of a backfill, as retry rows: held by the claim's lease or, without a token, due at once. What the group
 * holds already will be delivered by its holder.
 */
export function takeBackfilled(
  connection: Connection,
  subscriptionId: number,
  { token, limit, fits, now }: Take,
): Backfilled {
  const row = rowOf<Taken>(
    connection.prepare(`
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
  const all = idsToTake(connection, subscriptionId, row, upTo, limit)
  const ids = all.slice(0, fits(all))
  upTo = all.length === limit || ids.length < all.length ? (ids.at(-1) ?? upTo) : upTo
  const isLeased = token === null ? 0 : 1
  const hold = connection.prepare(`
    insert into tidemark_retry (subscription_id, id, attempts, version, due_at, suspect, history, token, slot)
    values (?1, ?2, ?3, ?3, ?4, 0, '[]', ?5, ?6)`)
  for (const [slot, id] of ids.entries()) hold.run(subscriptionId, id, isLeased, now, token, isLeased ? slot : null)
  connection
    .prepare(
      'update tidemark_backfill set cursor_id = ?1, checkpoint_id = max(checkpoint_id, ?1) where subscription_id = ?2',
    )
    .run(upTo, subscriptionId)
  const more = upTo < last
  if (!more && status !== 'RUNNING') {
    connection.prepare('update tidemark_subscription set backfilling = 0 where id = ?').run(subscriptionId)
  }
  return { ids, more }
}

type Taken = OpenBackfill & { topic_id: number; bit: number | null; group_status: SubscriptionStatus }

/** Of a dead group, whose topic leaves reference tracking, the bits say nothing any more. */
function idsToTake(
  connection: Connection,
  subscriptionId: number,
  { topic_id, bit, cursor_id, group_status }: Taken,
  upTo: number,
  limit: number,
): number[] {
  if (group_status === 'DEAD') {
    return undoneIds(connection, topic_id, { id: subscriptionId, bit }, { after: cursor_id, last: upTo, limit })
  }
  return rowsOf<{ id: number }>(
    connection.prepare(`
      select t.id from ${trackTable(topic_id)} t
      where t.id > ?2 and t.id <= ?3 and t.required & ~t.completed & (1 << ?1) <> 0
        and t.id not in (select value from json_each(?4))
      order by t.id
      limit ?5`),
    bit,
    cursor_id,
    upTo,
    JSON.stringify(heldIds(connection, subscriptionId, cursor_id + 1, upTo)),
    limit,
  ).map(({ id }) => id)
}

export async function setBackfillStatus(
  connection: Connection,
  topic: TopicRecord,
  subscription: SubscriptionRef,
  status: 'RUNNING' | 'CANCELLED' | 'FAILED',
  error?: string,
): Promise<BackfillRecord> {
  return await connection.write(true, () => {
    const current = findBackfill(connection, subscription.id)
    const isRunning = current?.status === 'RUNNING'
    const isStopped = current?.status === 'CANCELLED' || current?.status === 'FAILED'
    if (!(status === 'RUNNING' ? isStopped : isRunning)) {
      throw BackfillError.cannotBecome(topic.name, subscription.group, current?.status, status)
    }
    const now = connection.now()
    connection
      .prepare(`
        update tidemark_backfill
        set status = ?2, error = ?3, token = null, lease_until = null, updated_at = ?4, ended_at = ?5
        where subscription_id = ?1`)
      .run(subscription.id, status, error ?? null, now, status === 'RUNNING' ? null : now)
    connection.prepare('update tidemark_subscription set backfilling = 1 where id = ?').run(subscription.id)
    return requiredBackfill(connection, topic, subscription)
  })
}

/** What a publish waits for: the one writer's turn, a changed page of the topics, and the sync. */
export async function probe(connection: Connection): Promise<void> {
  await connection.write(true, () => {
    connection
      .prepare('update tidemark_topic set next_id = next_id where id = (select min(id) from tidemark_topic)')
      .run()
  })
}

export function findBackfill(connection: Connection, subscriptionId: number): BackfillRecord | undefined {
  const row = rowOf<BackfillRow & { uid: number; group_name: string }>(
    connection.prepare(`
      select b.*, s.uid, s.group_name
      from tidemark_backfill b
      join tidemark_subscription s on s.id = b.subscription_id
      where b.subscription_id = ?`),
    subscriptionId,
  )
  return row && toBackfillRecord(row, { uid: row.uid, group: row.group_name })
}

function requiredBackfill(connection: Connection, topic: TopicRecord, { id, group }: SubscriptionRef): BackfillRecord {
  const found = findBackfill(connection, id)
  if (found === undefined) throw new SubscriptionGoneError(topic.name, group)
  return found
}
