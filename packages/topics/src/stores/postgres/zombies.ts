import { SubscriptionGoneError } from '../../errors.ts'
import type { SubscriptionRecord } from '../subscription-record.ts'
import type { Zombie } from '../subscriptions.ts'
import type { TopicRecord } from '../topic-record.ts'
import { EXACT_BACKLOG } from './describe.ts'
import type { Row } from './row.ts'
import { SUBSCRIPTION_COLUMNS, toSubscription } from './subscribe.ts'
import { listTopics } from './topics.ts'
import type { Transaction } from './transaction.ts'

const ZOMBIES = `
  select ${SUBSCRIPTION_COLUMNS}, z.moved_ms, z.waiting
  from tidemark_fn.zombies($1) as z
  join tidemark.subscription as s on s.id = z.subscription_id
  order by s.id`

export async function listZombies(tx: Transaction): Promise<Zombie[]> {
  const rows = await tx.query(tx.sql(ZOMBIES), [EXACT_BACKLOG])
  if (rows.length === 0) return []
  const topics = new Map((await listTopics(tx)).map(topic => [topic.id, topic]))
  return rows.flatMap(row => toZombie(row, topics))
}

function toZombie(row: Row, topics: ReadonlyMap<number, TopicRecord>): Zombie[] {
  const topic = topics.get(Number(row.topic_id))
  if (topic === undefined) return []
  const movedAt = Math.floor(Number(row.moved_ms))
  return [{ topic, subscription: toSubscription(row), movedAt, waiting: Number(row.waiting) }]
}

export async function forceAdvance(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
): Promise<number> {
  const text = tx.sql('select tidemark_fn.force_advance($1) as lost')
  const [row] = await tx.query(text, [subscription.id])
  if (row?.lost == null) throw new SubscriptionGoneError(topic.name, subscription.group)
  return Number(row.lost)
}
