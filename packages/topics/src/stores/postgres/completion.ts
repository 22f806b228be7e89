import type { TopicRecord } from '../topic-record.ts'
import type { CompletionQuery, MessageCompletion } from '../tracking.ts'
import type { Transaction } from './transaction.ts'

const ORPHANS_PER_STEP = 10_000

/** Which groups still have to process each message, and which have. */
export async function completion(
  tx: Transaction,
  topic: TopicRecord,
  { after, limit, unfinished, id }: CompletionQuery,
): Promise<MessageCompletion[]> {
  if (topic.config.tracking !== 'reference') return []
  const groups = (bitmap: string) => `
    (select coalesce(json_agg(s.group_name order by s.group_name), '[]')
      from tidemark.subscription as s where s.topic_id = ${topic.id} and (p.${bitmap} >> s.bit) & 1 = 1) as ${bitmap}`
  const rows = await tx.query(
    tx.sql(`
      select p.id, m.salt, m.message_id, ${groups('required')}, ${groups('completed')}
      from (
        select t.* from tidemark.track_${topic.id} as t
        where t.id > $1 and ($2::bigint is null or t.id = $2) and (not $3 or t.required & ~t.completed <> 0)
        order by t.id
        limit $4
      ) as p
      cross join lateral (
        select l.salt, l.message_id from tidemark.log_${topic.id} as l where l.xid = p.xid and l.id = p.id limit 1
      ) as m
      order by p.id`),
    [after, id ?? null, unfinished, limit],
  )
  return rows.map(row => ({
    id: Number(row.id),
    salt: Number(row.salt),
    messageId: row.message_id ?? null,
    required: JSON.parse(row.required ?? '[]'),
    completed: JSON.parse(row.completed ?? '[]'),
  }))
}

/** A time before now on the server's clock, as text. */
export async function clockBefore(tx: Transaction, ms: number): Promise<string> {
  const text = "select (clock_timestamp() - $1::float8 * interval '1 millisecond')::text as before"
  const [row] = await tx.query(text, [ms])
  return row?.before ?? ''
}

type Orphans = { readonly after: string; readonly before: string }

/** `upTo`: where the next step begins; null after the last. */
export type OrphanStep = { readonly completed: number; readonly upTo: string | null }

export async function completeOrphans(
  tx: Transaction,
  topic: TopicRecord,
  { after, before }: Orphans,
): Promise<OrphanStep> {
  const text = tx.sql('select * from tidemark_fn.complete_orphans($1, $2, $3, $4)')
  const [row] = await tx.query(text, [topic.id, after, ORPHANS_PER_STEP, before])
  return { completed: Number(row?.completed ?? 0), upTo: row?.upto || null }
}
