import { BackfillError, TooManyGroupsError, TopicNotFoundError } from '../../errors.ts'
import type { StoredTopicConfig, Tracking } from '../../topic-config.ts'
import type { TopicRecord } from '../topic-record.ts'
import { MOST_BITS } from './bits.ts'
import { boundsOf } from './log-rows.ts'
import { rowOf, rowsOf } from './rows.ts'
import { takeBackfilled } from './take-backfilled.ts'
import { findTopicRow, type TopicRow, toRecord } from './topic-rows.ts'
import { createTrack, dropTrack } from './track-tables.ts'
import type { Transaction } from './transaction.ts'

const RELEASED_PER_STEP = 5_000

/** One step; undefined if there is another. */
export function switchTracking(tx: Transaction, topic: TopicRecord, tracking: Tracking): TopicRecord | undefined {
  const row = requiredTopic(tx, topic)
  if (toRecord(row).config.tracking === tracking) return toRecord(row)
  if (tracking === 'reference') trackByReference(tx, topic)
  // Undelivered backfilled messages first become retries, which need no bitmap, a page per transaction.
  else if (!trackByOffset(tx, topic)) return undefined
  changeConfig(tx, row, tracking)
  return toRecord(requiredTopic(tx, topic))
}

function trackByReference(tx: Transaction, topic: TopicRecord): void {
  const { first_id, next_id } = boundsOf(tx, topic)
  // A dead group gets a bit when it is resurrected.
  const groups = rowsOf<{ id: number }>(
    tx.prepare(
      "select id from tidemark_subscription where topic_id = ? and status in ('ACTIVE', 'PAUSED') order by id",
    ),
    topic.id,
  )
  if (groups.length > MOST_BITS) throw new TooManyGroupsError(topic.name, 0)
  createTrack(tx, topic.id)
  tx.prepare('delete from tidemark_backfill where topic_id = ?').run(topic.id)
  // An ended group has no bits in the new table to clear.
  tx.prepare(`
      update tidemark_subscription
      set cleared_epoch = epoch - (status in ('ACTIVE', 'PAUSED')), cleared_id = 0, live_id = ?2
      where topic_id = ?1`).run(topic.id, next_id - 1)
  for (const [bit, { id }] of groups.entries()) {
    tx.prepare('update tidemark_subscription set bit = ? where id = ?').run(bit, id)
  }
  const isEmpty = first_id >= next_id
  tx.prepare('update tidemark_topic set fill_next_id = ?, fill_last_id = ? where id = ?').run(
    isEmpty ? null : first_id,
    isEmpty ? null : next_id - 1,
    topic.id,
  )
}

/** False if a page of retries was created and there may be another. */
function trackByOffset(tx: Transaction, topic: TopicRecord): boolean {
  const backfills = rowsOf<{ subscription_id: number; group_name: string; running: number }>(
    tx.prepare(`
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
    takeBackfilled(tx, unfinished.subscription_id, {
      token: null,
      limit: RELEASED_PER_STEP,
      fits: ({ length }) => length,
      now: tx.now(),
    })
    return false
  }
  tx.prepare('delete from tidemark_backfill where topic_id = ?').run(topic.id)
  tx.prepare('delete from tidemark_bit_wipe where topic_id = ?').run(topic.id)
  tx.prepare('update tidemark_subscription set bit = null, backfilling = 0 where topic_id = ?').run(topic.id)
  tx.prepare(
    'delete from tidemark_done_range where subscription_id in (select id from tidemark_subscription where topic_id = ?)',
  ).run(topic.id)
  tx.prepare('update tidemark_topic set fill_next_id = null, fill_last_id = null where id = ?').run(topic.id)
  dropTrack(tx, topic.id)
  return true
}

function changeConfig(tx: Transaction, row: TopicRow, tracking: Tracking): void {
  const config = JSON.stringify({ ...(JSON.parse(row.config) as StoredTopicConfig), tracking })
  tx.prepare('update tidemark_topic set config = ?, config_version = config_version + 1 where id = ?').run(
    config,
    row.id,
  )
}

function requiredTopic(tx: Transaction, topic: TopicRecord): TopicRow {
  const row = rowOf<TopicRow>(tx.prepare(findTopicRow), topic.name)
  if (row === undefined || row.id !== topic.id) throw new TopicNotFoundError(topic.name)
  return row
}
