import { type MessageStateRecord, MOST_LETTERS_SEEN } from '../message-states.ts'
import type { SubscriptionStatus } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Transaction } from './transaction.ts'

const STATES = 'select * from tidemark_fn.message_states($1, $2, $3)'

const numberOf = (value: string | null | undefined): number | null =>
  value === null || value === undefined ? null : Number(value)

export async function messageStates(tx: Transaction, topic: TopicRecord, id: number): Promise<MessageStateRecord[]> {
  const rows = await tx.query(tx.sql(STATES), [topic.id, id, MOST_LETTERS_SEEN])
  return rows.map(row => ({
    group: row.group_name ?? '',
    status: row.status as SubscriptionStatus,
    state: row.state as MessageStateRecord['state'],
    consumer: row.consumer ?? null,
    until: numberOf(row.until),
    attempt: numberOf(row.attempt),
    deadLetter: numberOf(row.dead_letter),
  }))
}
