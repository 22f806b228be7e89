import { InvalidTransitionError, MessageNotFoundError, PositionGoneError, SubscriptionGoneError } from '../../errors.ts'
import { messageIdOf, parseMessageId } from '../../payload/message-id.ts'
import type { BackfillPlan } from '../backfills.ts'
import type { StartPosition, SubscriptionRecord } from '../subscription-record.ts'
import type { CountedRange, ResetPreviewRecord } from '../subscriptions.ts'
import type { TopicRecord } from '../topic-record.ts'
import { backfillSettings } from './resurrect.ts'
import { resolvePosition } from './subscribe.ts'
import type { Transaction } from './transaction.ts'

const RESET = 'select tidemark_fn.reset_cursor($1, $2, to_timestamp($3::float8 / 1000), $4::bigint, $5, $6) as status'
const PREVIEW = 'select * from tidemark_fn.preview_reset($1, $2, to_timestamp($3::float8 / 1000), $4::bigint, $5)'
const DEDUPED = 'select id from tidemark.dedupe where topic_id = $1 and message_id = $2'

export async function resetCursor(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  to: StartPosition,
  plan: BackfillPlan,
): Promise<void> {
  const { mode, since, id } = await keptPosition(tx, topic, to)
  const values = [subscription.id, mode, since, id, plan.maxMessages, backfillSettings(plan)]
  const [row] = await tx.query(tx.sql(RESET), values)
  if (row?.status === 'GONE') throw new SubscriptionGoneError(topic.name, subscription.group)
  if (row?.status === 'CANCELLED') {
    throw new InvalidTransitionError(topic.name, subscription.group, 'CANCELLED', 'ACTIVE')
  }
}

/** What `resetCursor` would do, in one statement after the position is known. */
export async function previewReset(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  to: StartPosition,
  most: number,
): Promise<ResetPreviewRecord> {
  const { mode, since, id } = await keptPosition(tx, topic, to)
  const [row] = await tx.query(tx.sql(PREVIEW), [subscription.id, mode, since, id, most])
  if (!row?.status) throw new SubscriptionGoneError(topic.name, subscription.group)
  if (row.status === 'CANCELLED') {
    throw new InvalidTransitionError(topic.name, subscription.group, 'CANCELLED', 'ACTIVE')
  }
  return {
    fromId: Number(row.from_id),
    toId: Number(row.to_id),
    between: JSON.parse(row.between_ids ?? '') as CountedRange,
    waiting: JSON.parse(row.waiting ?? '') as CountedRange,
  }
}

async function keptPosition(
  tx: Transaction,
  topic: TopicRecord,
  to: StartPosition,
): Promise<Awaited<ReturnType<typeof resolvePosition>>> {
  const firstKept = await firstKeptId(tx, topic)
  if (firstKept > 0) await refuseGone(tx, topic, to, firstKept)
  return await resolvePosition(tx, topic, to)
}

async function firstKeptId(tx: Transaction, topic: TopicRecord): Promise<number> {
  const [row] = await tx.query(tx.sql('select tidemark_fn.first_kept_id($1) as id'), [topic.id])
  return Number(row?.id)
}

/** Partitions were dropped: everything before the lowest existed once. */
async function refuseGone(tx: Transaction, topic: TopicRecord, to: StartPosition, firstKept: number): Promise<void> {
  if (typeof to === 'string') return
  const oldest = await oldestMessage(tx, topic)
  if ('timestamp' in to) {
    if (oldest && to.timestamp >= oldest.createdAt.getTime()) return
    throw new PositionGoneError(topic.name, new Date(to.timestamp).toISOString(), oldest)
  }
  const [deduped] = await tx.query(tx.sql(DEDUPED), [topic.id, to.messageId])
  const id = parseMessageId(topic.uid, to.messageId)?.id ?? (deduped ? Number(deduped.id) : undefined)
  if (id === undefined || id >= firstKept) return
  if (id < 1) throw new MessageNotFoundError(topic.name, to.messageId)
  throw new PositionGoneError(topic.name, `Message '${to.messageId}'`, oldest)
}

/** The first message that would be delivered. */
async function oldestMessage(
  tx: Transaction,
  topic: TopicRecord,
): Promise<{ messageId: string; createdAt: Date } | null> {
  const [row] = await tx.query(
    tx.sql(`
      select id, salt, message_id, floor(extract(epoch from created_at) * 1000) as created_at
      from tidemark.log_${topic.id}
      order by id
      limit 1`),
  )
  if (!row) return null
  return {
    messageId: row.message_id ?? messageIdOf(topic.uid, Number(row.salt), Number(row.id)),
    createdAt: new Date(Number(row.created_at)),
  }
}
