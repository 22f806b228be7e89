import { InvalidTransitionError, SubscriptionGoneError, TooManyGroupsError } from '../../errors.ts'
import type { BackfillPlan } from '../backfills.ts'
import type { Resurrected, SubscriptionRecord } from '../subscription-record.ts'
import type { Resurrection } from '../subscriptions.ts'
import type { TopicRecord } from '../topic-record.ts'
import { wipingBits } from './bits.ts'
import type { Row } from './row.ts'
import type { Transaction } from './transaction.ts'

const RESURRECT = 'select epoch, skipped, lost, backfill, full_up from tidemark_fn.resurrect($1, $2, $3, $4)'

export async function resurrectDead(
  tx: Transaction,
  topic: TopicRecord,
  { id, group }: SubscriptionRecord,
  resurrection: Resurrection,
): Promise<Resurrected> {
  const resurrected = await resurrect(tx, topic, id, resurrection)
  if (resurrected) return resurrected
  const [row] = await tx.query(tx.sql('select status from tidemark.subscription where id = $1'), [id])
  if (!row?.status) throw new SubscriptionGoneError(topic.name, group)
  throw new InvalidTransitionError(topic.name, group, row.status, 'ACTIVE')
}

/** null if it is not DEAD. */
export async function resurrect(
  tx: Transaction,
  topic: TopicRecord,
  id: number,
  { mode, limit, plan }: Resurrection,
): Promise<Resurrected | null> {
  const values = [id, mode, limit, backfillSettings(plan)]
  const [row] = await tx.query(tx.sql(RESURRECT), values)
  if (row?.full_up === 't') throw new TooManyGroupsError(topic.name, await wipingBits(tx, topic))
  return row?.epoch ? { ...toResurrected(row), backfill: row.backfill === 't' } : null
}

export const toResurrected = (row: Row): Omit<Resurrected, 'backfill'> => ({
  epoch: Number(row.epoch),
  skipped: Number(row.skipped),
  lost: Number(row.lost),
})

export const backfillSettings = ({ batchSize, maxPerSecond, targetMs }: BackfillPlan): string =>
  JSON.stringify({ batchSize, maxPerSecond, targetMs })
