import type { CompletionQuery, MessageCompletion } from '../fan-out-store.ts'
import type { TopicRecord } from '../store.ts'
import { type Connection, requiredRow, rowsOf } from './connection.ts'
import { firstIdSince } from './log.ts'
import { logTable, trackTable } from './topics.ts'

const ORPHANS_PER_STEP = 10_000

type Row = { id: number; salt: number; message_id: string | null; required: string; completed: string }

const groups = (bitmap: string): string => `
  (select json_group_array(s.group_name order by s.group_name) from tidemark_subscription s
    where s.topic_id = ?1 and (t.${bitmap} >> s.bit) & 1) as ${bitmap}`

/** Who has each message still to process, and who has done so. */
export function completion(
  connection: Connection,
  topic: TopicRecord,
  { after, limit, unfinished, id }: CompletionQuery,
): MessageCompletion[] {
  if (topic.config.tracking !== 'reference') return []
  return rowsOf<Row>(
    connection.prepare(`
      select t.id, l.salt, l.message_id, ${groups('required')}, ${groups('completed')}
      from ${trackTable(topic.id)} t
      join ${logTable(topic.id)} l on l.id = t.id
      where t.id between ?2 and ?3 and (not ?4 or t.required & ~t.completed <> 0)
      order by t.id
      limit ?5`),
    topic.id,
    Math.max(after + 1, id ?? 0),
    id ?? Number.MAX_SAFE_INTEGER,
    unfinished ? 1 : 0,
    limit,
  ).map(row => ({
    id: row.id,
    salt: row.salt,
    messageId: row.message_id,
    required: JSON.parse(row.required),
    completed: JSON.parse(row.completed),
  }))
}

/** Step by step, so that nobody waits for it for long. */
export async function completeOrphans(
  connection: Connection,
  topic: TopicRecord,
  olderThanMs: number,
): Promise<number> {
  const bounds = await connection.retryWhileBusy(() => {
    const kept = requiredRow<{ first_id: number; next_id: number }>(
      connection.prepare('select first_id, next_id from tidemark_topic where id = ?'),
      topic.id,
    )
    return { first: kept.first_id, end: firstIdSince(connection, topic, kept, connection.ago(olderThanMs)) }
  })
  let count = 0
  for (let from = bounds.first; from < bounds.end; from += ORPHANS_PER_STEP) {
    const to = Math.min(from + ORPHANS_PER_STEP, bounds.end) - 1
    count += await connection.write(true, () => completePage(connection, topic, from, to))
  }
  return count
}

function completePage(connection: Connection, topic: TopicRecord, from: number, to: number): number {
  const { changes } = connection
    .prepare(`
      update ${trackTable(topic.id)} set required = required & completed
      where id between ?2 and ?3 and required & ~completed <> 0 and required & ~completed & (
        select coalesce(sum(1 << bit), 0) from tidemark_subscription where topic_id = ?1 and status in ('ACTIVE', 'PAUSED')
      ) = 0`)
    .run(topic.id, from, to)
  return Number(changes)
}
