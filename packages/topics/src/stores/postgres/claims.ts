import { ClaimReleasedError } from '../../errors.ts'
import type { ClaimRecord, ClaimsQuery, ReleasedClaimRecord } from '../leases.ts'
import { MOST_NAMED, type TakenMessage } from '../leases.ts'
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

export async function releaseClaim(
  tx: Transaction,
  topic: TopicRecord,
  token: string,
): Promise<ReleasedClaimRecord | undefined> {
  const { name, message } = RELEASED
  const [row] = await tx.query(tx.sql(RELEASE), [topic.id, token, name, message, MOST_NAMED])
  return row?.released ? (JSON.parse(row.released) as ReleasedClaimRecord) : undefined
}
