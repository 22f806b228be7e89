import type { TopicRecord } from '../topic-record.ts'
import type { Database } from './database.ts'

/** How many bits of removed groups are still to be wiped. */
export async function wipingBits(database: Database, topic: TopicRecord): Promise<number> {
  const text = database.sql('select count(*) as wiping from tidemark.bit_wipe where topic_id = $1')
  const [row] = await database.query(text, [topic.id])
  return Number(row?.wiping)
}

export async function clearBits(database: Database, limit: number): Promise<{ cleared: number; more: boolean }> {
  const [row] = await database.work(database.sql('select * from tidemark_fn.clear_bits($1)'), [limit])
  return { cleared: Number(row?.cleared), more: row?.more === 't' }
}
