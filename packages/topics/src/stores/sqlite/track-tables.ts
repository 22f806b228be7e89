import { trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** Creates the bitmaps beside the log, and two views for people. Call it in a write transaction. */
export function createTrack(tx: Transaction, topicId: number): void {
  const table = trackTable(topicId)
  tx.exec(`
    create table ${table} (
      id integer primary key,
      required integer not null default 0,
      completed integer not null default 0
    )`)
  tx.exec(`
    create view tidemark_completion_${topicId} as
    select t.id, s.group_name, (t.required >> s.bit) & 1 as required, (t.completed >> s.bit) & 1 as completed
    from ${table} t
    join tidemark_subscription s on s.topic_id = ${topicId} and ((t.required | t.completed) >> s.bit) & 1`)
  const count = (bitmap: string) => `(
      with recursive every(bit) as (select 0 union all select bit + 1 from every where bit < 63)
      select sum((${bitmap} >> bit) & 1) from every
    )`
  tx.exec(`
    create view tidemark_completion_counts_${topicId} as
    select t.id, ${count('t.required')} as required, ${count('(t.required & t.completed)')} as completed,
      t.required & ~t.completed = 0 as done
    from ${table} t`)
}

export function dropTrack(tx: Transaction, topicId: number): void {
  tx.exec(`drop view if exists tidemark_completion_${topicId}`)
  tx.exec(`drop view if exists tidemark_completion_counts_${topicId}`)
  tx.exec(`drop table if exists ${trackTable(topicId)}`)
}
