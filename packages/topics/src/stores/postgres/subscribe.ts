import { DEFAULT_BACKFILL } from '../../backfill/backfill-plan.ts'
import {
  InvalidTransitionError,
  MessageNotFoundError,
  SubscriptionGoneError,
  TooManyGroupsError,
  TopicConflictError,
  TopicNotFoundError,
} from '../../errors.ts'
import { parseMessageId } from '../../payload/message-id.ts'
import { startOf } from '../start.ts'
import type { StartPosition, SubscriptionRecord, SubscriptionStatus } from '../subscription-record.ts'
import { DEFAULT_HEARTBEAT } from '../subscription-record.ts'
import type { SubscriptionSettings } from '../subscriptions.ts'
import type { TopicRecord } from '../topic-record.ts'
import { wipingBits } from './bits.ts'
import type { Database } from './database.ts'
import { resurrect } from './resurrect.ts'
import type { Row } from './row.ts'
import type { Statements, Transaction } from './transaction.ts'

export const SUBSCRIPTION_COLUMNS =
  'id, uid, topic_id, group_name, status, epoch, heartbeat_interval_ms, heartbeat_timeout_ms, dead_after_misses'

const SUBSCRIBE = `
  select *
  from tidemark_fn.subscribe($1, $2, $3, $4, to_timestamp($5::float8 / 1000), $6::bigint, $7, $8, $9, $10::bigint, $11, $12, $13)`

const GO_ON = `select ${SUBSCRIPTION_COLUMNS} from tidemark_fn.go_on($1, $2, $3, $4, $5, $6, $7)`

/** Called with the place in the log at which a new group starts that reads from the beginning. */
type Placed = (subscriptionId: number, place: string) => void

/**
 * A program starts many groups at once, so a new group takes one round trip and an existing one takes two: these
 * statements check themselves that the topic and the group are still the same. With transactions that begin with that
 * check it took nine round trips, and 64 groups took twice as long to start.
 */
export async function subscribe(
  database: Database,
  topic: TopicRecord,
  group: string,
  from: StartPosition,
  settings: SubscriptionSettings,
  placed: Placed,
): Promise<SubscriptionRecord> {
  // A group that only continues does not need its start message to exist any more.
  const existing = isMessage(from)
    ? await database.read({ topic }, tx => findSubscription(tx, topic, group))
    : undefined
  const subscription = existing ?? (await findOrCreate(database, topic, group, from, settings, placed))
  if (subscription.status === 'CANCELLED') throw new InvalidTransitionError(topic.name, group, 'CANCELLED', 'ACTIVE')
  if (!subscription.created) return await goOn(database, topic, subscription, settings)
  // In a transaction after that of `subscribe`: publishes that begin now see the group and set its bit.
  if (topic.config.tracking === 'reference') await beat(database, topic, subscription)
  return subscription
}

/** Restarts an existing group: it takes the given settings and counts as alive; a dead group is resurrected. */
async function goOn(
  database: Database,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  settings: SubscriptionSettings,
): Promise<SubscriptionRecord> {
  const found = await beat(database, topic, subscription, settings)
  if (found.status !== 'DEAD') return found
  const resurrected = await database.transaction({ topic, subscription }, tx =>
    resurrect(tx, topic, subscription.id, { mode: 'continue', limit: null, plan: DEFAULT_BACKFILL }),
  )
  return { ...(await beat(database, topic, subscription)), resurrected }
}

async function beat(
  database: Database,
  topic: TopicRecord,
  { id, uid, group }: SubscriptionRecord,
  { heartbeat = {}, backfillLimit }: SubscriptionSettings = {},
): Promise<SubscriptionRecord> {
  const { intervalMs = null, timeoutMs = null, deadAfterMisses = null } = heartbeat
  const isLimited = backfillLimit !== undefined
  const values = [id, uid, intervalMs, timeoutMs, deadAfterMisses, isLimited, backfillLimit ?? null]
  const [row] = await database.query(database.sql(GO_ON), values, 'tidemark_go_on')
  if (row?.id) return toSubscription(row)
  await database.requireNamespace()
  throw new SubscriptionGoneError(topic.name, group)
}

export async function findSubscription(
  tx: Transaction,
  topic: TopicRecord,
  group: string,
): Promise<SubscriptionRecord | undefined> {
  const text = tx.sql(
    `select ${SUBSCRIPTION_COLUMNS} from tidemark.subscription where topic_id = $1 and group_name = $2`,
  )
  const [row] = await tx.query(text, [topic.id, group])
  return row && toSubscription(row)
}

export const toSubscription = (row: Row): SubscriptionRecord => ({
  id: Number(row.id),
  uid: Number(row.uid),
  topicId: Number(row.topic_id),
  group: row.group_name ?? '',
  status: row.status as SubscriptionStatus,
  epoch: Number(row.epoch),
  heartbeat: {
    intervalMs: Number(row.heartbeat_interval_ms),
    timeoutMs: Number(row.heartbeat_timeout_ms),
    deadAfterMisses: Number(row.dead_after_misses),
  },
  created: false,
  skipped: 0,
  resurrected: null,
})

const isMessage = (from: StartPosition): boolean => typeof from === 'object' && 'messageId' in from

async function findOrCreate(
  database: Database,
  topic: TopicRecord,
  group: string,
  from: StartPosition,
  settings: SubscriptionSettings,
  placed: Placed,
): Promise<SubscriptionRecord> {
  const { start, plan } = startOf(topic, from, settings, topic.config.tracking === 'reference')
  const { mode, since, id } = isMessage(start)
    ? await database.read({ topic }, tx => resolvePosition(tx, topic, start))
    : await resolvePosition(database, topic, start)
  const defaults = settings.heartbeatDefaults ?? DEFAULT_HEARTBEAT
  const { intervalMs, timeoutMs, deadAfterMisses } = { ...defaults, ...settings.heartbeat }
  const where = [topic.id, topic.uid, group, mode, since, id]
  const { scope, maxMessages, ...rest } = plan
  const values = [...where, intervalMs, timeoutMs, deadAfterMisses, settings.backfillLimit ?? null]
  const all = [...values, scope, maxMessages, JSON.stringify(rest)]
  const [row] = await database.query(database.sql(SUBSCRIBE), all, 'tidemark_subscribe')
  if (row?.id) {
    const subscription = { ...toSubscription(row), created: row.created === 't', skipped: Number(row.skipped) }
    if (subscription.created && start === 'beginning' && row.at_id) placed(subscription.id, row.at_id)
    return subscription
  }
  if (row?.refusal === 'FULL') throw new TooManyGroupsError(topic.name, await wipingBits(database, topic))
  if (row?.refusal === 'KIND') throw TopicConflictError.ofSemantics(topic.name)
  await database.requireNamespace()
  throw new TopicNotFoundError(topic.name)
}

type Start = { mode: 'now' | 'beginning'; since: number | null; id: string | null }

export async function resolvePosition(tx: Statements, topic: TopicRecord, from: StartPosition): Promise<Start> {
  if (from === 'beginning') return { mode: 'beginning', since: null, id: null }
  if (from === 'now') return { mode: 'now', since: null, id: null }
  if ('timestamp' in from) return { mode: 'beginning', since: from.timestamp, id: null }
  const id = await findMessage(tx, topic, from.messageId)
  if (id === undefined) throw new MessageNotFoundError(topic.name, from.messageId)
  return { mode: 'beginning', since: null, id }
}

/**
 * Finds a message's id by its derived messageId, in the dedupe table, or by reading the log if the table has forgotten
 * it. A reused id belongs to another message.
 */
export async function findMessage(tx: Statements, topic: TopicRecord, messageId: string): Promise<string | undefined> {
  const log = `tidemark.log_${topic.id}`
  const derived = parseMessageId(topic.uid, messageId)
  const places = [
    {
      text: `select id from ${log} where id = $1 and salt = $2 and message_id is null`,
      values: derived === undefined ? null : [derived.id, derived.salt],
    },
    {
      text: `select l.id from ${log} as l where l.message_id = $2 and l.id = (select d.id from tidemark.dedupe as d where d.topic_id = $1 and d.message_id = $2)`,
      values: [topic.id, messageId],
    },
    { text: `select id from ${log} where message_id = $1 order by id desc limit 1`, values: [messageId] },
  ]
  for (const { text, values } of places) {
    const [row] = values ? await tx.query(tx.sql(text), values) : []
    if (row?.id) return row.id
  }
  return undefined
}

/** The states from which each state can be reached. */
const ORIGINS: Record<SubscriptionStatus, readonly string[]> = {
  ACTIVE: ['PAUSED'],
  PAUSED: ['ACTIVE'],
  // Set by detectDead only.
  DEAD: [],
  CANCELLED: ['ACTIVE', 'PAUSED', 'DEAD'],
}

export async function setStatus(
  tx: Transaction,
  topic: TopicRecord,
  { id, group }: SubscriptionRecord,
  status: SubscriptionStatus,
): Promise<void> {
  const text = tx.sql(`
    update tidemark.subscription
    set status = $2, status_at = clock_timestamp(),
      epoch = epoch + case when $2 = 'ACTIVE' then 1 else 0 end,
      misses = case when $2 = 'ACTIVE' then 0 else misses end,
      missed_at = case when $2 = 'ACTIVE' then null else missed_at end,
      last_heartbeat_at = case when $2 = 'ACTIVE' then clock_timestamp() else last_heartbeat_at end,
      ended_xid = case when $2 = 'CANCELLED' then coalesce(ended_xid, pg_current_xact_id()) else ended_xid end
    where id = $1 and status = any($3)
    returning id`)
  const changed = await tx.query(text, [id, status, ORIGINS[status]])
  if (changed.length > 0) return
  const [row] = await tx.query(tx.sql('select status from tidemark.subscription where id = $1'), [id])
  if (!row?.status) throw new SubscriptionGoneError(topic.name, group)
  // Cancelling twice changes nothing.
  if (status === 'CANCELLED' && row.status === 'CANCELLED') return
  throw new InvalidTransitionError(topic.name, group, row.status, status)
}
