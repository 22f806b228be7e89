import type { DeadLetterSelection, RedrivenPage, Undeliverable } from '../dead-letters.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { SqlValue } from './driver.ts'
import { heldIds } from './held-ids.ts'
import { requiredRow, rowOf, rowsOf } from './rows.ts'
import { logTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

type Letter = {
  id: number
  log_id: number
  version: number
  history: string
  subscription_id: number
  cursor: number
  bit: number | null
}

/**
 * A dead letter becomes a retry, which reads its message from the log. A letter whose message was cleaned up stays and
 * is counted; so does one whose group is not live, because nothing would retain its message. Call it inside a write
 * transaction.
 */
export function redrive(tx: Transaction, topic: TopicRecord, selection: DeadLetterSelection): RedrivenPage {
  const { where, values } = matching(topic, selection)
  const letters = rowsOf<Letter>(
    tx.prepare(`
      select d.id, d.log_id, d.version, d.history, s.id as subscription_id, s.cursor, s.bit
      from tidemark_dead_letter d
      join tidemark_subscription s on s.topic_id = d.topic_id and s.group_name = d.group_name
      where ${where} and s.status in ('ACTIVE', 'PAUSED') and ${isKept(topic)}
      order by d.id
      limit ?`),
    ...values,
    selection.limit,
  )
  for (const letter of letters) bringBack(tx, topic, letter)
  const isLast = letters.length < selection.limit
  return { redriven: letters.length, last: isLast ? null : (letters.at(-1)?.id ?? null) }
}

export function undeliverable(tx: Transaction, topic: TopicRecord, selection: DeadLetterSelection): Undeliverable {
  const { where, values } = matching(topic, selection)
  return requiredRow<Undeliverable>(
    tx.prepare(`
      select count(*) as matching, count(*) filter (where s.id is not null and not ${isKept(topic)}) as gone,
        count(*) filter (where s.id is null) as orphaned
      from tidemark_dead_letter d
      left join tidemark_subscription s
        on s.topic_id = d.topic_id and s.group_name = d.group_name and s.status in ('ACTIVE', 'PAUSED')
      where ${where}`),
    ...values,
  )
}

/** A reused id belongs to another message. */
const isKept = (topic: TopicRecord): string =>
  `exists (select 1 from ${logTable(topic.id)} l where l.id = d.log_id and l.salt = d.salt)`

function bringBack(tx: Transaction, topic: TopicRecord, letter: Letter): void {
  if (!isComing(tx, letter)) {
    tx.prepare(`
      insert into tidemark_retry (subscription_id, id, attempts, version, due_at, suspect, history)
      values (?, ?, 0, ?, ?, 0, ?)`).run(
      letter.subscription_id,
      letter.log_id,
      letter.version,
      tx.now(),
      letter.history,
    )
  }
  if (letter.bit !== null && hasTracking(tx, topic)) {
    tx.prepare(`update tidemark_track_${topic.id} set completed = completed & ~(1 << ?) where id = ?`).run(
      letter.bit,
      letter.log_id,
    )
  }
  tx.prepare('delete from tidemark_dead_letter where id = ?').run(letter.id)
}

/** After a reset, the cursor, a retry or a page lease may deliver the message anyway; it is not queued twice. */
const isComing = (tx: Transaction, { subscription_id, cursor, log_id }: Letter): boolean =>
  log_id > cursor || heldIds(tx, subscription_id, log_id, log_id).length > 0

const hasTracking = (tx: Transaction, topic: TopicRecord): boolean =>
  rowOf(tx.prepare("select 1 from sqlite_schema where type = 'table' and name = ?"), `tidemark_track_${topic.id}`) !==
  undefined

/** Call it inside a write transaction. */
export function discard(tx: Transaction, topic: TopicRecord, selection: DeadLetterSelection): number {
  const { where, values } = matching(topic, selection)
  const { changes } = tx
    .prepare(`
      delete from tidemark_dead_letter
      where id in (select d.id from tidemark_dead_letter d where ${where} order by d.id limit ?)`)
    .run(...values, selection.limit)
  return Number(changes)
}

/** The condition on dead letters `d`; undefined: those of all topics. */
export function matching(
  topic: TopicRecord | undefined,
  selection: DeadLetterSelection,
): { where: string; values: SqlValue[] } {
  const { ids, group, errorName, key, type, since, until, after } = selection
  const conditions: [condition: string, value: SqlValue | undefined][] = [
    // The unary plus makes SQLite look the letters up by id instead of reading all letters of the topic.
    [ids ? '+d.topic_id = ?' : 'd.topic_id = ?', topic?.id],
    ['d.id in (select value from json_each(?))', ids && JSON.stringify(ids)],
    [ids ? '+d.group_name = ?' : 'd.group_name = ?', group],
    ["json_extract(d.error, '$.name') = ?", errorName],
    ['d.key = ?', key],
    ['d.type is ?', type],
    ['d.dead_at >= ?', since],
    ['d.dead_at < ?', until],
    [ids ? '+d.id > ?' : 'd.id > ?', after],
  ]
  const given = conditions.filter(([, value]) => value !== undefined)
  return {
    where: given.length === 0 ? 'true' : given.map(([condition]) => condition).join(' and '),
    values: given.flatMap(([, value]) => (value === undefined ? [] : [value])),
  }
}
