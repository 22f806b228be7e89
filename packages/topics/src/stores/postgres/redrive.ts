import type { DeadLetterSelection, RedrivenPage, Undeliverable } from '../dead-letters.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Transaction } from './transaction.ts'

const LIVE_GROUP = `exists (
  select from tidemark.subscription as s
  where s.topic_id = d.topic_id and s.group_name = d.group_name and s.status in ('ACTIVE', 'PAUSED'))`
/**
 * Its id was reused, or its row is gone although its id is retained. Written as a lookup for each, so that it never
 * reads the whole log.
 */
const isReplaced = ({ id }: TopicRecord): string => `
  (select l.id from tidemark.log_${id} as l where l.id = d.message_id and l.salt = d.salt limit 1) is null`
const FIRST_KEPT = '(select tidemark_fn.first_kept_id($1))'

/**
 * A dead letter becomes a retry, which reads its message from the log. A letter whose message was cleaned up stays and
 * is counted; so does one whose group is not live, because nothing would retain its message.
 */
export async function redrive(
  tx: Transaction,
  topic: TopicRecord,
  selection: DeadLetterSelection,
): Promise<RedrivenPage> {
  const { where, values } = matching(topic, selection)
  const letters = await tx.query(
    tx.sql(`
      select d.id from tidemark.dead_letter as d
      where ${where} and d.message_id >= ${FIRST_KEPT} and ${LIVE_GROUP}
      order by d.id
      limit ${selection.limit}`),
    values,
  )
  const ids = letters.map(({ id }) => id)
  const [row] = await tx.query(tx.sql('select redriven from tidemark_fn.redrive($1, $2)'), [topic.id, ids])
  const isLast = letters.length < selection.limit
  return { redriven: Number(row?.redriven), last: isLast ? null : Number(letters.at(-1)?.id) }
}

export async function undeliverable(
  tx: Transaction,
  topic: TopicRecord,
  selection: DeadLetterSelection,
): Promise<Undeliverable> {
  const { where, values } = matching(topic, selection)
  const [left] = await tx.query(
    tx.sql(`
      select count(*) as matching, count(*) filter (where not live) as orphaned,
        count(*) filter (where live and (message_id < ${FIRST_KEPT} or ${isReplaced(topic)})) as gone
      from (select d.message_id, d.salt, ${LIVE_GROUP} as live from tidemark.dead_letter as d where ${where}) as d`),
    values,
  )
  return { matching: Number(left?.matching), gone: Number(left?.gone), orphaned: Number(left?.orphaned) }
}

export async function discard(tx: Transaction, topic: TopicRecord, selection: DeadLetterSelection): Promise<number> {
  const { where, values } = matching(topic, selection)
  const text = tx.sql(`
    delete from tidemark.dead_letter
    -- as an array: joined with a list, all letters were read
    where id = any(array(select d.id from tidemark.dead_letter as d where ${where} order by d.id limit ${selection.limit}))
    returning id`)
  return (await tx.query(text, values)).length
}

/** The condition on dead letters `d`, whose parameters follow `before`; undefined: those of all topics. */
export function matching(
  topic: TopicRecord | undefined,
  selection: DeadLetterSelection,
  before: readonly unknown[] = [],
): { where: string; values: unknown[] } {
  const { ids, group, errorName, key, type, since, until, after } = selection
  const values: unknown[] = [...before]
  const conditions: string[] = []
  const add = (value: unknown, condition: (parameter: string) => string): void => {
    if (value === undefined) return
    values.push(value)
    conditions.push(condition(`$${values.length}`))
  }
  add(topic?.id, parameter => `d.topic_id = ${parameter}`)
  add(ids, parameter => `d.id = any(${parameter})`)
  add(group, parameter => `d.group_name = ${parameter}`)
  add(errorName, parameter => `d.error ->> 'name' = ${parameter}`)
  add(key, parameter => `d.key = ${parameter}`)
  add(type, parameter => `d.type is not distinct from ${parameter}`)
  add(since, parameter => `d.dead_at >= to_timestamp(${parameter}::float8 / 1000)`)
  add(until, parameter => `d.dead_at < to_timestamp(${parameter}::float8 / 1000)`)
  add(after, parameter => `d.id > ${parameter}`)
  return { where: conditions.length === 0 ? 'true' : conditions.join(' and '), values }
}
