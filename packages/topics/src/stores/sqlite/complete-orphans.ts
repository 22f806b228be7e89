import type { TopicRecord } from '../topic-record.ts'
import { boundsOf, firstIdSince } from './log-rows.ts'
import { trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** From the first retained message to the first that is not old enough. */
export function orphanRange(
  tx: Transaction,
  topic: TopicRecord,
  olderThanMs: number,
): { readonly first: number; readonly end: number } {
  const bounds = boundsOf(tx, topic)
  return { first: bounds.first_id, end: firstIdSince(tx, topic, bounds, tx.ago(olderThanMs)) }
}

export function completePage(tx: Transaction, topic: TopicRecord, from: number, to: number): number {
  const { changes } = tx
    .prepare(`
      update ${trackTable(topic.id)} set required = required & completed
      where id between ?2 and ?3 and required & ~completed <> 0 and required & ~completed & (
        select coalesce(sum(1 << bit), 0) from tidemark_subscription where topic_id = ?1 and status in ('ACTIVE', 'PAUSED')
      ) = 0`)
    .run(topic.id, from, to)
  return Number(changes)
}
