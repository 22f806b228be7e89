import { BackfillError, InvalidTransitionError, SubscriptionGoneError } from '../../errors.ts'
import type { BackfillBatch, BackfillPlan, BackfillRecord, Backfills } from '../backfills.ts'
import type { StartPosition, SubscriptionRecord, SubscriptionRef } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { type BackfillRow, toBackfillRecord } from './backfill-record.ts'
import type { Database } from './database.ts'
import { codeOf } from './database-errors.ts'
import type { Row } from './row.ts'
import { resolvePosition } from './subscribe.ts'
import type { Statements, Transaction } from './transaction.ts'
import type { WakeUps } from './wake-ups.ts'

/** The backfills of one schema. */
export function postgresBackfills(database: Database, wakeUps: WakeUps): Backfills {
  return {
    start: (topic, subscription, from, plan) =>
      database.transaction({ topic, subscription }, tx => startBackfill(tx, topic, subscription, from, plan)),
    take: (token, ttlMs, subscription) =>
      database.transaction(subscription ? { subscription } : {}, tx =>
        takeBackfill(tx, token, ttlMs, subscription?.id),
      ),
    runBatch: async (subscriptionId, batch) => {
      try {
        const record = await database.maintenance({}, tx => backfillBatch(tx, subscriptionId, batch))
        if (record !== 'lost') wakeUps.send(record.topicId)
        return record
      } catch (error) {
        if (error instanceof Error && codeOf(error.cause) === TAKEN_OVER) return 'lost'
        throw error
      }
    },
    setStatus: (topic, subscription, status, error) =>
      database.transaction({ topic, subscription }, tx => setBackfillStatus(tx, topic, subscription, status, error)),
    find: subscription => database.read({ subscription }, tx => findBackfill(tx, subscription.id)),
  }
}

/** Raised by backfill_batch if another process has taken over the backfill. */
const TAKEN_OVER = 'TMLST'

const COLUMNS = 'to_jsonb(b) as backfill, s.uid, s.group_name'

/** The live cursor moves to the present; the backfill delivers what it had not reached. */
async function startBackfill(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  from: StartPosition,
  plan: BackfillPlan,
): Promise<BackfillRecord> {
  const { since, id } = await resolvePosition(tx, topic, from)
  const { scope, maxMessages, ...settings } = plan
  const text = tx.sql(
    'select tidemark_fn.start_backfill($1, $2, to_timestamp($3::float8 / 1000), $4, $5, $6, $7) as refusal',
  )
  const values = [topic.id, subscription.id, since, id]
  const limit = from === 'now' ? 0 : maxMessages
  const [row] = await tx.query(text, [...values, scope, limit, JSON.stringify(settings)])
  switch (row?.refusal) {
    case null:
      return await requiredBackfill(tx, topic, subscription)
    case 'OFFSET':
      throw BackfillError.ofOffsetTopic(topic.name, subscription.group)
    case 'UNFINISHED':
      throw BackfillError.unfinished(topic.name, subscription.group)
    case 'DEAD':
      throw BackfillError.ofDeadGroup(topic.name, subscription.group)
    case 'CANCELLED':
      throw new InvalidTransitionError(topic.name, subscription.group, 'CANCELLED', 'ACTIVE')
    default:
      throw new SubscriptionGoneError(topic.name, subscription.group)
  }
}

async function takeBackfill(
  tx: Transaction,
  token: string,
  ttlMs: number,
  subscriptionId?: number,
): Promise<BackfillRecord | null> {
  const [row] = await tx.query(
    tx.sql(`
      with free as (
        select x.subscription_id
        from tidemark.backfill as x
        join tidemark.subscription as y on y.id = x.subscription_id and y.status in ('ACTIVE', 'PAUSED')
        where x.status = 'RUNNING' and (x.lease_until is null or x.lease_until < clock_timestamp())
          and ($3::int is null or x.subscription_id = $3)
        order by x.started_at
        limit 1
        -- not "skip locked": the group's own claims lock the row for a moment, and it would seem taken
        for no key update of x
      )
      update tidemark.backfill as b
      set token = $1, lease_until = clock_timestamp() + $2::float8 * interval '1 millisecond', updated_at = clock_timestamp(),
        slowed = false
      from free
      join tidemark.subscription as s on s.id = free.subscription_id
      where b.subscription_id = free.subscription_id
      returning ${COLUMNS}`),
    [token, ttlMs, subscriptionId ?? null],
  )
  return row ? toBackfill(row) : null
}

async function backfillBatch(
  tx: Transaction,
  subscriptionId: number,
  { token, limit, ttlMs, slowed = false }: BackfillBatch,
): Promise<BackfillRecord | 'lost'> {
  const text = tx.sql(`
    select ${COLUMNS}
    from tidemark_fn.backfill_batch($1, $2, $3, $4, $5) as b
    join tidemark.subscription as s on s.id = b.subscription_id`)
  const [row] = await tx.query(text, [subscriptionId, token, limit, ttlMs, slowed])
  return row ? toBackfill(row) : 'lost'
}

async function setBackfillStatus(
  tx: Transaction,
  topic: TopicRecord,
  subscription: SubscriptionRef,
  status: 'RUNNING' | 'CANCELLED' | 'FAILED',
  error?: string,
): Promise<BackfillRecord> {
  const text = tx.sql(`
    with changed as (
      update tidemark.backfill as b
      set status = $2, error = $3, token = null, lease_until = null, updated_at = clock_timestamp(),
        ended_at = case when $2 = 'RUNNING' then null else clock_timestamp() end
      where b.subscription_id = $1 and b.status = any($4)
      returning b.subscription_id
    )
    update tidemark.subscription as s
    set backfilling = true
    from changed
    where s.id = changed.subscription_id
    returning s.id`)
  const origins = status === 'RUNNING' ? ['CANCELLED', 'FAILED'] : ['RUNNING']
  const changed = await tx.query(text, [subscription.id, status, error ?? null, origins])
  if (changed.length > 0) return await requiredBackfill(tx, topic, subscription)
  const current = await findBackfill(tx, subscription.id)
  throw BackfillError.cannotBecome(topic.name, subscription.group, current?.status, status)
}

async function findBackfill(tx: Transaction, subscriptionId: number): Promise<BackfillRecord | undefined> {
  const text = tx.sql(`
    select ${COLUMNS}
    from tidemark.backfill as b
    join tidemark.subscription as s on s.id = b.subscription_id
    where b.subscription_id = $1`)
  const [row] = await tx.query(text, [subscriptionId])
  return row && toBackfill(row)
}

/** Writes and syncs a WAL record, which is what a publish waits for. */
export async function probe(statements: Statements): Promise<void> {
  await statements.query("select pg_logical_emit_message(true, 'tidemark', '')")
}

async function requiredBackfill(
  tx: Transaction,
  topic: TopicRecord,
  { id, group }: SubscriptionRef,
): Promise<BackfillRecord> {
  const found = await findBackfill(tx, id)
  if (found === undefined) throw new SubscriptionGoneError(topic.name, group)
  return found
}

const toBackfill = ({ backfill, uid, group_name }: Row): BackfillRecord =>
  toBackfillRecord(JSON.parse(backfill ?? '{}') as BackfillRow, { uid: Number(uid), group: group_name ?? '' })
