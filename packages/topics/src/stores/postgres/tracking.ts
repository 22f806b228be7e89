import { BackfillError, TooManyGroupsError, TopicNotFoundError } from '../../errors.ts'
import type { Tracking } from '../../topic-config.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { ReferenceTracking } from '../tracking.ts'
import { clearBits } from './bits.ts'
import { clockBefore, completeOrphans, completion, type OrphanStep } from './completion.ts'
import type { Database } from './database.ts'
import { LOCK_TIMEOUT_MS } from './database-errors.ts'
import { findTopic } from './topics.ts'
import type { Transaction } from './transaction.ts'

/** The bitmaps of one schema's reference topics. */
export function postgresTracking(database: Database): ReferenceTracking {
  return {
    switch: (topic, tracking) => switchTracking(database, topic, tracking),
    fill: (topic, limit) => database.maintenance({ topic }, tx => fillTracking(tx, topic, limit)),
    clearBits: limit => database.maintenance({}, tx => clearBits(tx, limit)),
    completion: (topic, query) => database.read({ topic }, tx => completion(tx, topic, query)),
    completeOrphans: async (topic, olderThanMs) => {
      const before = await database.read({ topic }, tx => clockBefore(tx, olderThanMs))
      const step = (after: string) =>
        database.maintenance({ topic }, tx => completeOrphans(tx, topic, { after, before }))
      let count = 0
      // In steps, so that no row is locked for long.
      for (let after: string | null = '0'; after !== null; ) {
        const { completed, upTo }: OrphanStep = await step(after)
        count += completed
        after = upTo
      }
      return count
    },
  }
}

const RELEASED_PER_STEP = 5_000

/** Switches while groups run: publishes and claims in progress finish as they began. */
async function switchTracking(database: Database, topic: TopicRecord, tracking: Tracking): Promise<TopicRecord> {
  const current = await database.read({ topic }, tx => requiredTopic(tx, topic))
  if (current.config.tracking === tracking) return current
  if (tracking === 'reference') await database.transaction({ topic }, tx => trackByReference(tx, topic))
  else await leaveReference(database, topic)
  return await database.read({ topic }, tx => requiredTopic(tx, topic))
}

/** Undelivered backfilled messages first become retries, which need no bitmap. */
async function leaveReference(database: Database, topic: TopicRecord): Promise<void> {
  do {
    // Repeated if a backfill was started or resumed in between.
    await database.transaction({ topic }, tx => refuseWhileBackfilling(tx, topic))
    while (await database.maintenance({ topic }, tx => releaseBackfilled(tx, topic))) {}
  } while (!(await database.transaction({ topic }, tx => trackByOffset(tx, topic))))
}

async function fillTracking(tx: Transaction, topic: TopicRecord, limit: number): Promise<boolean> {
  const [row] = await tx.query(tx.sql('select tidemark_fn.fill_tracking($1, $2) as more'), [topic.id, limit])
  return row?.more === 't'
}

async function trackByReference(tx: Transaction, topic: TopicRecord): Promise<void> {
  await waitShortly(tx)
  const [row] = await tx.query(tx.sql('select tidemark_fn.track_by_reference($1) as switched'), [topic.id])
  if (row?.switched !== 't') throw new TooManyGroupsError(topic.name, 0)
}

/** False if a backfill is in the way. */
async function trackByOffset(tx: Transaction, topic: TopicRecord): Promise<boolean> {
  await waitShortly(tx)
  const [row] = await tx.query(tx.sql('select tidemark_fn.track_by_offset($1) as switched'), [topic.id])
  return row?.switched === 't'
}

/** Publishers wait for the switch, so it doesn't wait long itself. */
const waitShortly = (tx: Transaction): Promise<void> => tx.exec(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)

async function releaseBackfilled(tx: Transaction, topic: TopicRecord): Promise<boolean> {
  const text = tx.sql('select tidemark_fn.release_backfilled($1, $2) as more')
  const [row] = await tx.query(text, [topic.id, RELEASED_PER_STEP])
  return row?.more === 't'
}

async function refuseWhileBackfilling(tx: Transaction, topic: TopicRecord): Promise<void> {
  const text = tx.sql(`
    select s.group_name
    from tidemark.backfill as b
    join tidemark.subscription as s on s.id = b.subscription_id
    where b.topic_id = $1 and b.status = 'RUNNING' and s.status in ('ACTIVE', 'PAUSED')
    limit 1`)
  const [row] = await tx.query(text, [topic.id])
  if (row?.group_name === undefined || row.group_name === null) return
  throw BackfillError.whileSwitching(topic.name, row.group_name)
}

async function requiredTopic(tx: Transaction, topic: TopicRecord): Promise<TopicRecord> {
  const found = await findTopic(tx, topic.name)
  if (found === undefined || found.id !== topic.id) throw new TopicNotFoundError(topic.name)
  return found
}
