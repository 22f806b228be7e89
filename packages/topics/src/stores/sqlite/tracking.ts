import { BackfillError, TooManyGroupsError, TopicNotFoundError } from '../../errors.ts'
import type { StoredTopicConfig, Tracking } from '../../topic-config.ts'
import type { TopicRecord } from '../store.ts'
import { takeBackfilled } from './backfills.ts'
import { type Bitmap, hasBit } from './bitmap.ts'
import { MOST_BITS } from './bits.ts'
import { type Connection, requiredRow, rowOf, rowsOf } from './connection.ts'
import { boundsOf } from './log.ts'
import { findTopicRow, logTable, type TopicRow, toRecord, trackTable } from './topics.ts'

const RELEASED_PER_STEP = 5_000

/** The bitmaps, beside the log, and two views for people; to be called in a write transaction. */
export function createTrack(connection: Connection, topicId: number): void {
  const table = trackTable(topicId)
  connection.exec(`
    create table ${table} (
      id integer primary key,
      required integer not null default 0,
      completed integer not null default 0
    )`)
  connection.exec(`
    create view tidemark_completion_${topicId} as
    select t.id, s.group_name, (t.required >> s.bit) & 1 as required, (t.completed >> s.bit) & 1 as completed
    from ${table} t
    join tidemark_subscription s on s.topic_id = ${topicId} and ((t.required | t.completed) >> s.bit) & 1`)
  const count = (bitmap: string) => `(
      with recursive every(bit) as (select 0 union all select bit + 1 from every where bit < 63)
      select sum((${bitmap} >> bit) & 1) from every
    )`
  connection.exec(`
    create view tidemark_completion_counts_${topicId} as
    select t.id, ${count('t.required')} as required, ${count('(t.required & t.completed)')} as completed,
      t.required & ~t.completed = 0 as done
    from ${table} t`)
}

function dropTrack(connection: Connection, topicId: number): void {
  connection.exec(`drop view if exists tidemark_completion_${topicId}`)
  connection.exec(`drop view if exists tidemark_completion_counts_${topicId}`)
  connection.exec(`drop table if exists ${trackTable(topicId)}`)
}

export async function setTracking(
  connection: Connection,
  topic: TopicRecord,
  tracking: Tracking,
): Promise<TopicRecord> {
  for (;;) {
    const record = await connection.writeUnlessHeld(() => {
      const row = requiredTopic(connection, topic)
      if (toRecord(row).config.tracking === tracking) return toRecord(row)
      if (tracking === 'reference') trackByReference(connection, topic)
      // What a backfill has yet to deliver becomes retries first, which need no bitmap: a page a transaction.
      else if (!trackByOffset(connection, topic)) return undefined
      changeConfig(connection, row, tracking)
      return toRecord(requiredTopic(connection, topic))
    })
    if (record) return record
  }
}

function trackByReference(connection: Connection, topic: TopicRecord): void {
  const { first_id, next_id } = boundsOf(connection, topic)
  // One that is dead gets a bit when it comes back.
  const groups = rowsOf<{ id: number }>(
    connection.prepare(
      "select id from tidemark_subscription where topic_id = ? and status in ('ACTIVE', 'PAUSED') order by id",
    ),
    topic.id,
  )
  if (groups.length > MOST_BITS) throw new TooManyGroupsError(topic.name, 0)
  createTrack(connection, topic.id)
  connection.prepare('delete from tidemark_backfill where topic_id = ?').run(topic.id)
  // Who has ended has no bits in the new table to be cleared.
  connection
    .prepare(`
      update tidemark_subscription
      set cleared_epoch = epoch - (status in ('ACTIVE', 'PAUSED')), cleared_id = 0, live_id = ?2
      where topic_id = ?1`)
    .run(topic.id, next_id - 1)
  for (const [bit, { id }] of groups.entries()) {
    connection.prepare('update tidemark_subscription set bit = ? where id = ?').run(bit, id)
  }
  const isEmpty = first_id >= next_id
  connection
    .prepare('update tidemark_topic set fill_next_id = ?, fill_last_id = ? where id = ?')
    .run(isEmpty ? null : first_id, isEmpty ? null : next_id - 1, topic.id)
}

/** The lowest id that the group has not settled. */
export function lowestNeeded(connection: Connection, subscriptionId: number): number {
  const { lowest } = requiredRow<{ lowest: number }>(
    connection.prepare(`
      select min(id) as lowest from (
        select cursor + 1 as id from tidemark_subscription where id = ?1
        union all
        select min(id) from tidemark_retry where subscription_id = ?1
        union all
        select first_id from tidemark_lease
        where subscription_id = ?1 and kind = 'page' and done_at is null and expired_at is null
      )`),
    subscriptionId,
  )
  return lowest
}

/** False where a page of retries was made and there may be another. */
function trackByOffset(connection: Connection, topic: TopicRecord): boolean {
  const backfills = rowsOf<{ subscription_id: number; group_name: string; running: number }>(
    connection.prepare(`
      select b.subscription_id, s.group_name, b.status = 'RUNNING' and s.status in ('ACTIVE', 'PAUSED') as running
      from tidemark_backfill b
      join tidemark_subscription s on s.id = b.subscription_id and s.status <> 'CANCELLED'
      where b.topic_id = ? and (b.status = 'RUNNING' and b.cursor_id < b.upper_id or b.cursor_id < b.checkpoint_id)`),
    topic.id,
  )
  const running = backfills.find(each => each.running === 1)
  if (running) throw BackfillError.whileSwitching(topic.name, running.group_name)
  const [unfinished] = backfills
  if (unfinished) {
    takeBackfilled(connection, unfinished.subscription_id, {
      token: null,
      limit: RELEASED_PER_STEP,
      fits: ({ length }) => length,
      now: connection.now(),
    })
    return false
  }
  connection.prepare('delete from tidemark_backfill where topic_id = ?').run(topic.id)
  connection.prepare('delete from tidemark_bit_wipe where topic_id = ?').run(topic.id)
  connection.prepare('update tidemark_subscription set bit = null, backfilling = 0 where topic_id = ?').run(topic.id)
  connection
    .prepare(
      'delete from tidemark_done_range where subscription_id in (select id from tidemark_subscription where topic_id = ?)',
    )
    .run(topic.id)
  connection.prepare('update tidemark_topic set fill_next_id = null, fill_last_id = null where id = ?').run(topic.id)
  dropTrack(connection, topic.id)
  return true
}

type Fill = { fill_next_id: number | null; fill_last_id: number }
type Group = { id: number; bit: number; cursor: number; start_id: number; lower_id: number | null; upper_id: number }

/** One page of what is kept: what a group has passed and doesn't hold is done. Bits are only set, never cleared. */
export async function fillTracking(connection: Connection, topic: TopicRecord, limit: number): Promise<boolean> {
  return await connection.write(true, () => {
    const fill = requiredRow<Fill>(
      connection.prepare('select fill_next_id, fill_last_id from tidemark_topic where id = ?'),
      topic.id,
    )
    if (fill.fill_next_id === null) return false
    const upTo = Math.min(fill.fill_next_id + limit - 1, fill.fill_last_id)
    const groups = rowsOf<Group>(
      connection.prepare(`
        select s.id, s.bit, s.cursor, s.start_id, b.lower_id, b.upper_id
        from tidemark_subscription s
        left join tidemark_backfill b on b.subscription_id = s.id
        where s.topic_id = ? and s.bit is not null and s.status in ('ACTIVE', 'PAUSED')`),
      topic.id,
    )
    fillNobodys(connection, topic.id, fill.fill_next_id, upTo)
    for (const group of groups) fillGroup(connection, topic.id, group, fill.fill_next_id, upTo)
    const isDone = upTo >= fill.fill_last_id
    connection
      .prepare('update tidemark_topic set fill_next_id = ?, fill_last_id = ? where id = ?')
      .run(isDone ? null : upTo + 1, isDone ? null : fill.fill_last_id, topic.id)
    return !isDone
  })
}

/** A message that no group is there for has its row too, as if it were published now. */
function fillNobodys(connection: Connection, topicId: number, first: number, last: number): void {
  connection
    .prepare(`
      insert or ignore into ${trackTable(topicId)} (id)
      select id from ${logTable(topicId)} where id between ? and ?`)
    .run(first, last)
}

function fillGroup(connection: Connection, topicId: number, group: Group, first: number, last: number): void {
  const held = JSON.stringify(heldIds(connection, group.id, first, last))
  connection
    .prepare(`
      insert into ${trackTable(topicId)} as t (id, required, completed)
      select id, 1 << ?1, case when id <= ?2 and id not in (select value from json_each(?6)) then 1 << ?1 else 0 end
      from ${logTable(topicId)}
      -- what a backfill covers is its own
      where id between max(?3, ?5 + 1) and ?4 and (?7 is null or id not between ?7 + 1 and ?8)
      on conflict do update set required = required | excluded.required, completed = completed | excluded.completed`)
    .run(group.bit, group.cursor, first, last, group.start_id, held, group.lower_id, group.upper_id ?? null)
}

/** What the group's live leases and its retries hold, of these ids. */
export function heldIds(connection: Connection, subscriptionId: number, first: number, last: number): number[] {
  const held = rowsOf<{ id: number }>(
    connection.prepare('select id from tidemark_retry where subscription_id = ? and id between ? and ?'),
    subscriptionId,
    first,
    last,
  ).map(({ id }) => id)
  const leases = rowsOf<{ first_id: number; size: number; settled: Bitmap | null }>(
    connection.prepare(`
      select first_id, size, settled from tidemark_lease
      where subscription_id = ? and kind = 'page' and done_at is null and expired_at is null
        and first_id <= ? and first_id + size > ?`),
    subscriptionId,
    last,
    first,
  )
  for (const { first_id, size, settled } of leases) {
    for (let slot = Math.max(0, first - first_id); slot < size && first_id + slot <= last; slot++) {
      if (!hasBit(settled, slot)) held.push(first_id + slot)
    }
  }
  return held
}

function changeConfig(connection: Connection, row: TopicRow, tracking: Tracking): void {
  const config = JSON.stringify({ ...(JSON.parse(row.config) as StoredTopicConfig), tracking })
  connection
    .prepare('update tidemark_topic set config = ?, config_version = config_version + 1 where id = ?')
    .run(config, row.id)
}

function requiredTopic(connection: Connection, topic: TopicRecord): TopicRow {
  const row = rowOf<TopicRow>(connection.prepare(findTopicRow), topic.name)
  if (row === undefined || row.id !== topic.id) throw new TopicNotFoundError(topic.name)
  return row
}
