import type { SubscriptionStatus, TopicDescription, TopicRecord } from '../store.ts'
import type { Database } from './database.ts'

/** Up to here a backlog is counted; beyond, it is told by the ids. */
export const EXACT_BACKLOG = 10_000

/** Ids drawn, but for those that were thrown away to fill a partition. */
const PUBLISHED = 'select tidemark.last_id(t.id) - t.skipped_ids as id from tidemark.topic as t where t.id = $1'

export async function describeTopic(database: Database, topic: TopicRecord): Promise<TopicDescription> {
  const [published] = await database.query(database.sql(PUBLISHED), [topic.id])
  const rows = await database.query(database.sql('select * from tidemark.describe_groups($1, $2)'), [
    topic.id,
    EXACT_BACKLOG,
  ])
  return {
    messagesPublished: Number(published?.id),
    groups: rows.map(row => ({
      group: row.group_name ?? '',
      status: row.status as SubscriptionStatus,
      watermark: BigInt(row.watermark ?? 0),
      backlog: Number(row.backlog),
      inFlight: Number(row.in_flight),
      retries: Number(row.retries),
      deadLetters: Number(row.dead_letters),
    })),
  }
}
