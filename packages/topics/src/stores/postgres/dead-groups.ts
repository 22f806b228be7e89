import { InvalidTransitionError, SubscriptionGoneError } from '../../errors.ts'
import type { Detection } from '../heartbeats.ts'
import type { UnsubscribedTopic } from '../inspection.ts'
import type { SubscriptionOfTopic, SubscriptionRecord } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Row } from './row.ts'
import { SUBSCRIPTION_COLUMNS, toSubscription } from './subscribe.ts'
import { type TopicRow, toRecord } from './topics.ts'
import type { Transaction } from './transaction.ts'

/** A subscription's columns, and its topic's under separate names. */
const OF_TOPIC = `
  ${SUBSCRIPTION_COLUMNS.split(', ')
    .map(column => `s.${column}`)
    .join(', ')},
  t.name as topic_name, t.uid::text as topic_uid, t.config as topic_config, t.config_version as topic_version`

const DETECT = `
  select d.misses, d.dead, d.silent_ms, ${OF_TOPIC}
  from tidemark_fn.detect_dead() as d
  join tidemark.subscription as s on s.id = d.id
  join tidemark.topic as t on t.id = s.topic_id
  order by d.id`

const ENDED = `
  select ${OF_TOPIC}
  from tidemark.subscription as s
  join tidemark.topic as t on t.id = s.topic_id
  where s.status in ('DEAD', 'CANCELLED')
    and s.status_at <= clock_timestamp() - $1::float8 * interval '1 millisecond'
    and (s.bit is null or s.cleared_epoch = s.epoch)
  order by s.id`

const UNSUBSCRIBED = `
  select topic, messages, extract(epoch from oldest_at) * 1000 as oldest_at
  from tidemark_fn.unsubscribed_topics()`

export async function detectDead(tx: Transaction): Promise<Detection> {
  const missed: Detection['missed'][number][] = []
  const dead: Detection['dead'][number][] = []
  for (const row of await tx.query(tx.sql(DETECT))) {
    const { topic, subscription } = toSubscriptionOfTopic(row)
    if (row.dead === 't') {
      // The statement itself returns the row as it was before.
      dead.push({ topic, subscription: { ...subscription, status: 'DEAD' }, silentMs: Number(row.silent_ms) })
    } else {
      missed.push({ topic, subscription, misses: Number(row.misses), of: subscription.heartbeat.deadAfterMisses })
    }
  }
  return { missed, dead }
}

export async function unsubscribedTopics(tx: Transaction): Promise<UnsubscribedTopic[]> {
  const rows = await tx.query(tx.sql(UNSUBSCRIBED))
  return rows.map(row => ({
    topic: row.topic ?? '',
    messages: Number(row.messages),
    oldestAt: Math.floor(Number(row.oldest_at)),
  }))
}

export async function endedSubscriptions(tx: Transaction, olderThanMs: number): Promise<SubscriptionOfTopic[]> {
  return (await tx.query(tx.sql(ENDED), [olderThanMs])).map(toSubscriptionOfTopic)
}

const ACKNOWLEDGE = `
  update tidemark.subscription as s set lost_acknowledged = s.lost
  from (select id, lost - lost_acknowledged as open from tidemark.subscription where id = $1 for no key update) as before
  where s.id = before.id
  returning before.open`

export async function acknowledgeLoss(
  tx: Transaction,
  topic: TopicRecord,
  { id, group }: SubscriptionRecord,
): Promise<number> {
  const [row] = await tx.query(tx.sql(ACKNOWLEDGE), [id])
  if (!row) throw new SubscriptionGoneError(topic.name, group)
  return Number(row.open)
}

/** Its leases and retries are deleted with it; repeating it is harmless. */
export async function removeSubscription(
  tx: Transaction,
  topic: TopicRecord,
  { id, group }: SubscriptionRecord,
): Promise<void> {
  const text = tx.sql('select tidemark_fn.remove_subscription($1) as status')
  const [row] = await tx.query(text, [id])
  if (row?.status) throw new InvalidTransitionError(topic.name, group, row.status, 'REMOVED')
}

function toSubscriptionOfTopic(row: Row): SubscriptionOfTopic {
  const topic = {
    id: row.topic_id,
    name: row.topic_name,
    uid: row.topic_uid,
    config: row.topic_config,
    config_version: row.topic_version,
  }
  return { topic: toRecord(topic as TopicRow), subscription: toSubscription(row) }
}
