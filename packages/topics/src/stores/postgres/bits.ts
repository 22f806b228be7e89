import type { TopicRecord } from '../topic-record.ts'
import type { Statements, Transaction } from './transaction.ts'

/** How many bits of removed groups still have to be cleared. */
export async function wipingBits(tx: Statements, topic: TopicRecord): Promise<number> {
  const text = tx.sql('select count(*) as wiping from tidemark.bit_wipe where topic_id = $1')
  const [row] = await tx.query(text, [topic.id])
  return Number(row?.wiping)
}

export async function clearBits(tx: Transaction, limit: number): Promise<{ cleared: number; more: boolean }> {
  const [row] = await tx.query(tx.sql('select * from tidemark_fn.clear_bits($1)'), [limit])
  return { cleared: Number(row?.cleared), more: row?.more === 't' }
}
