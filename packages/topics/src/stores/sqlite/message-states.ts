import { type MessageStateRecord, MOST_LETTERS_SEEN, NOTHING_HELD } from '../message-states.ts'
import type { SubscriptionStatus } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { type Bitmap, hasBit } from './bitmap.ts'
import { rowOf, rowsOf } from './rows.ts'
import { hasTable, trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

type GroupRow = {
  readonly id: number
  readonly group_name: string
  readonly status: SubscriptionStatus
  readonly cursor: number
  readonly start_id: number
  readonly bit: number | null
}
type Held = Pick<MessageStateRecord, 'state' | 'consumer' | 'until' | 'attempt' | 'deadLetter'>

/** Call it in a read transaction. */
export function messageStates(tx: Transaction, topic: TopicRecord, id: number): MessageStateRecord[] {
  const groups = rowsOf<GroupRow>(
    tx.prepare(`
      select id, group_name, status, cursor, start_id, bit from tidemark_subscription
      where topic_id = ? order by group_name`),
    topic.id,
  )
  const isTracked = hasTable(tx, trackTable(topic.id))
  return groups.map(group => {
    const held = retried(tx, group, id) ?? claimed(tx, group, id) ?? buried(tx, topic, group, id)
    const state = held ?? { ...NOTHING_HELD, state: positionOf(tx, topic, group, id, isTracked) }
    return { group: group.group_name, status: group.status, ...state }
  })
}

type RetryRow = {
  readonly due_at: number
  readonly attempts: number
  readonly consumer: string | null
  readonly deadline: number | null
  readonly token: string | null
}

function retried(tx: Transaction, group: GroupRow, id: number): Held | undefined {
  const row = rowOf<RetryRow>(
    tx.prepare(`
      select r.due_at, r.attempts, r.token, l.consumer, l.deadline
      from tidemark_retry r
      left join tidemark_lease l on l.token = r.token
      where r.subscription_id = ? and r.id = ?`),
    group.id,
    id,
  )
  if (row === undefined) return undefined
  const { due_at, attempts, token, consumer, deadline } = row
  if (token === null) return { ...NOTHING_HELD, state: 'retry', until: due_at, attempt: attempts + 1 }
  return { ...NOTHING_HELD, state: 'in-flight', consumer, until: deadline, attempt: attempts }
}

type PageRow = {
  readonly first_id: number
  readonly settled: Bitmap | null
  readonly consumer: string
  readonly deadline: number | null
}

function claimed(tx: Transaction, group: GroupRow, id: number): Held | undefined {
  const page = rowsOf<PageRow>(
    tx.prepare(`
      select first_id, settled, consumer, deadline from tidemark_lease
      where subscription_id = ?1 and kind = 'page' and done_at is null and expired_at is null
        and first_id <= ?2 and first_id + size > ?2`),
    group.id,
    id,
  ).find(({ first_id, settled }) => !hasBit(settled, id - first_id))
  return page && { ...NOTHING_HELD, state: 'in-flight', consumer: page.consumer, until: page.deadline, attempt: 1 }
}

/** No index has the ids of messages, so the newest are looked through; undefined: it is none of all there are. */
function buried(tx: Transaction, topic: TopicRecord, group: GroupRow, id: number): Held | undefined {
  const letters = rowsOf<{ letter: number; log_id: number }>(
    tx.prepare(`
      select id as letter, log_id from tidemark_dead_letter
      where topic_id = ? and group_name = ? order by id desc limit ?`),
    topic.id,
    group.group_name,
    MOST_LETTERS_SEEN,
  )
  const found = letters.find(({ log_id }) => log_id === id)
  if (found !== undefined) return { ...NOTHING_HELD, state: 'dead-letter', deadLetter: found.letter }
  const isUnsure = letters.length === MOST_LETTERS_SEEN && id <= group.cursor && id > group.start_id
  return isUnsure ? { ...NOTHING_HELD, state: 'settled' } : undefined
}

function positionOf(
  tx: Transaction,
  topic: TopicRecord,
  { cursor, start_id, bit }: GroupRow,
  id: number,
  isTracked: boolean,
): MessageStateRecord['state'] {
  const bits =
    bit === null || !isTracked
      ? undefined
      : rowOf<{ required: number; completed: number }>(
          tx.prepare(`
            select (required >> ?1) & 1 as required, (completed >> ?1) & 1 as completed
            from ${trackTable(topic.id)} where id = ?2`),
          bit,
          id,
        )
  if (bits?.completed === 1) return 'done'
  if (bits?.required === 1) return 'waiting'
  if (id > cursor) return 'waiting'
  return bits !== undefined || id <= start_id ? 'not-for-group' : 'done'
}
