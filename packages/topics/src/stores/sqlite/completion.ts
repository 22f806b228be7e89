import type { TopicRecord } from '../topic-record.ts'
import type { CompletionQuery, MessageCompletion } from '../tracking.ts'
import { rowsOf } from './rows.ts'
import { logTable, trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

type Row = { id: number; salt: number; message_id: string | null; required: string; completed: string }

const groups = (bitmap: string): string => `
  (select json_group_array(s.group_name order by s.group_name) from tidemark_subscription s
    where s.topic_id = ?1 and (t.${bitmap} >> s.bit) & 1) as ${bitmap}`

/** Which groups still have to process each message, and which have. */
export function completion(
  tx: Transaction,
  topic: TopicRecord,
  { after, limit, unfinished, id }: CompletionQuery,
): MessageCompletion[] {
  if (topic.config.tracking !== 'reference') return []
  return rowsOf<Row>(
    tx.prepare(`
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
