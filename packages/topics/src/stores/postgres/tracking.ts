import { BackfillError, TooManyGroupsError, TopicNotFoundError } from '../../errors.ts'
import type { Tracking } from '../../topic-config.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { ReferenceTracking } from '../tracking.ts'
import { clearBits } from './bits.ts'
import { completeOrphans, completion } from './completion.ts'
import { again, type Database } from './database.ts'
import { LOCK_TIMEOUT_MS } from './database-errors.ts'
import { findTopic } from './topics.ts'

/** The bitmaps of one schema's reference topics. */
export function postgresTracking(database: Database): ReferenceTracking {
  return {
    switch: (topic, tracking) => database.expecting({ topic }, () => setTracking(database, topic, tracking)),
    fill: (topic, limit) => database.expecting({ topic }, () => fillTracking(database, topic, limit)),
    clearBits: limit => database.expecting({}, () => clearBits(database, limit)),
    completion: (topic, query) => database.expecting({ topic }, () => completion(database, topic, query)),
    completeOrphans: (topic, olderThanMs) =>
      database.expecting({ topic }, () => completeOrphans(database, topic, olderThanMs)),
  }
}

const RELEASED_PER_STEP = 5_000

/** Switches while groups run: publishes and claims that are under way finish as they began. */
async function setTracking(database: Database, topic: TopicRecord, tracking: Tracking): Promise<TopicRecord> {
  const current = await requiredTopic(database, topic)
  if (current.config.tracking === tracking) return current
  if (tracking === 'reference') await trackByReference(database, topic)
  else await trackByOffset(database, topic)
  return await requiredTopic(database, topic)
}

async function fillTracking(database: Database, topic: TopicRecord, limit: number): Promise<boolean> {
  const text = database.sql('select tidemark_fn.fill_tracking($1, $2) as more')
  const [row] = await database.work(text, [topic.id, limit])
  return row?.more === 't'
}

async function trackByReference(database: Database, topic: TopicRecord): Promise<void> {
  const text = database.sql('select tidemark_fn.track_by_reference($1) as switched')
  const switched = await inShortTransaction(database, text, topic)
  if (!switched) throw new TooManyGroupsError(topic.name, 0)
}

/** What a backfill has yet to deliver becomes retries first: they need no bitmap. */
async function trackByOffset(database: Database, topic: TopicRecord): Promise<void> {
  await refuseWhileBackfilling(database, topic)
  const release = database.sql('select tidemark_fn.release_backfilled($1, $2) as more')
  const leave = database.sql('select tidemark_fn.track_by_offset($1) as switched')
  for (;;) {
    const [row] = await database.work(release, [topic.id, RELEASED_PER_STEP])
    if (row?.more === 't') continue
    if (await inShortTransaction(database, leave, topic)) return
    // One was begun, or went on, in between.
    await refuseWhileBackfilling(database, topic)
  }
}

async function refuseWhileBackfilling(database: Database, topic: TopicRecord): Promise<void> {
  const text = database.sql(`
    select s.group_name
    from tidemark.backfill as b
    join tidemark.subscription as s on s.id = b.subscription_id
    where b.topic_id = $1 and b.status = 'RUNNING' and s.status in ('ACTIVE', 'PAUSED')
    limit 1`)
  const [row] = await database.query(text, [topic.id])
  if (row?.group_name === undefined || row.group_name === null) return
  throw BackfillError.whileSwitching(topic.name, row.group_name)
}

/** Whoever publishes waits for it, so it doesn't wait for long itself. */
async function inShortTransaction(database: Database, text: string, topic: TopicRecord): Promise<boolean> {
  return await again(() =>
    database.transaction(async client => {
      await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
      const { rows } = await client.query<{ switched: boolean }>(text, [topic.id])
      return rows[0]?.switched === true
    }),
  )
}

async function requiredTopic(database: Database, topic: TopicRecord): Promise<TopicRecord> {
  const found = await findTopic(database, topic.name)
  if (found === undefined || found.id !== topic.id) throw new TopicNotFoundError(topic.name)
  return found
}
