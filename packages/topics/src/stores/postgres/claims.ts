import { ClaimReleasedError } from '../../errors.ts'
import type { ClaimRecord, ClaimsQuery, LeaseHolder, ReleasedClaimRecord } from '../leases.ts'
import { MOST_NAMED, type TakenMessage } from '../leases.ts'
import type { SubscriptionRecord } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Transaction } from './transaction.ts'

const CLAIMS = 'select tidemark_fn.claims($1, $2, $3, $4, $5, $6, $7) as claim'
const RELEASE = 'select tidemark_fn.release_claim($1, $2, $3, $4, $5) as released'

/** The server fills in the consumer's name. */
const RELEASED = new ClaimReleasedError('{consumer}')

type Stored = Omit<ClaimRecord, 'messages'> & {
  readonly messages: readonly TakenMessage[]
  readonly attempts: readonly number[]
}

export async function listClaims(
  tx: Transaction,
  topic: TopicRecord,
  { subscriptionId, consumer, after, limit, named }: ClaimsQuery,
): Promise<ClaimRecord[]> {
  const place = [after?.place ?? null, after?.token ?? null]
  const values = [topic.id, subscriptionId ?? null, consumer ?? null, ...place, limit, named]
  const rows = await tx.query(tx.sql(CLAIMS), values)
  return rows.map(({ claim }) => {
    const { attempts, messages, ...stored } = JSON.parse(claim ?? '') as Stored
    return { ...stored, messages: messages.map((message, index) => ({ ...message, attempt: attempts[index] ?? 1 })) }
  })
}

const HOLDERS = `
  select l.consumer, sum(l.size - coalesce(bit_count(l.settled), 0)) as in_flight,
    floor(extract(epoch from min(l.deadline)) * 1000) as until
  from tidemark.lease as l
  where l.subscription_id = $1 and l.done_at is null and l.expired_at is null
  group by l.consumer
  order by l.consumer collate "C"`

/** Sums up the live leases of a group by consumer. */
export async function listHolders(tx: Transaction, { id }: Pick<SubscriptionRecord, 'id'>): Promise<LeaseHolder[]> {
  const rows = await tx.query(tx.sql(HOLDERS), [id])
  return rows.map(({ consumer, in_flight, until }) => ({
    consumer: consumer ?? '',
    inFlight: Number(in_flight),
    until: until ? Number(until) : null,
  }))
}

export async function releaseClaim(
  tx: Transaction,
  topic: TopicRecord,
  token: string,
): Promise<ReleasedClaimRecord | undefined> {
  const { name, message } = RELEASED
  const [row] = await tx.query(tx.sql(RELEASE), [topic.id, token, name, message, MOST_NAMED])
  return row?.released ? (JSON.parse(row.released) as ReleasedClaimRecord) : undefined
}
