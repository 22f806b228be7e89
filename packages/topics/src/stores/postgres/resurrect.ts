import { InvalidTransitionError, SubscriptionGoneError } from '../../errors.ts'
import type { BackfillPlan, Resurrected, Resurrection } from '../fan-out-store.ts'
import type { SubscriptionRecord, TopicRecord } from '../store.ts'
import type { Database } from './database.ts'

const RESURRECT = 'select epoch, skipped, backfill from tidemark.resurrect($1, $2, $3, $4)'

export async function resurrectDead(
  database: Database,
  topic: TopicRecord,
  { id, group }: SubscriptionRecord,
  resurrection: Resurrection,
): Promise<Resurrected> {
  const resurrected = await resurrect(database, id, resurrection)
  if (resurrected) return resurrected
  const [row] = await database.query(database.sql('select status from tidemark.subscription where id = $1'), [id])
  if (!row?.status) throw new SubscriptionGoneError(topic.name, group)
  throw new InvalidTransitionError(topic.name, group, row.status, 'ACTIVE')
}

/** null where it is not DEAD. */
export async function resurrect(
  database: Database,
  id: number,
  { mode, limit, plan }: Resurrection,
): Promise<Resurrected | null> {
  const values = [id, mode, limit, backfillSettings(plan)]
  const [row] = await database.queryAgain(database.sql(RESURRECT), values)
  if (!row?.epoch) return null
  return { epoch: Number(row.epoch), skipped: Number(row.skipped), backfill: row.backfill === 't' }
}

export const backfillSettings = ({ batchSize, maxPerSecond, targetMs }: BackfillPlan): string =>
  JSON.stringify({ batchSize, maxPerSecond, targetMs })
