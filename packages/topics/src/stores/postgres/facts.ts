import type { TopicFacts } from '../inspection.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Transaction } from './transaction.ts'

const ms = (time: string): string => `floor(extract(epoch from ${time}) * 1000) as ${time}`

const FACTS = `
  select ${ms('made_at')}, ${ms('oldest_at')}, ${ms('newest_at')}, retained, ${ms('unprocessed_at')}, removable
  from tidemark_fn.topic_facts($1)`

const ROOM = 'select room from tidemark_fn.partition_room() where topic_id = $1'

export async function topicFacts(tx: Transaction, topic: TopicRecord): Promise<TopicFacts> {
  const [facts] = await tx.query(tx.sql(FACTS), [topic.id])
  const found = await tx.query(tx.sql('select * from tidemark_fn.inconsistencies($1) as text'), [topic.id])
  const [partitions] = await tx.query(tx.sql(ROOM), [topic.id])
  const time = (value: string | null | undefined): number | null => (value ? Number(value) : null)
  return {
    createdAt: Number(facts?.made_at),
    oldestAt: time(facts?.oldest_at),
    newestAt: time(facts?.newest_at),
    retained: Number(facts?.retained),
    oldestUnprocessedAt: time(facts?.unprocessed_at),
    removable: Number(facts?.removable),
    inconsistencies: found.map(({ text }) => text ?? ''),
    partitions: { room: Number(partitions?.room), rows: topic.config.partitionRows },
  }
}
