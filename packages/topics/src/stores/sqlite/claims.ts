import { ClaimReleasedError } from '../../errors.ts'
import type { ClaimRecord, ClaimsQuery, LeaseHolder, ReleasedClaimRecord } from '../leases.ts'
import type { SubscriptionRecord } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { countBits } from './bitmap.ts'
import { endLease, type LiveLease, named, unsettledOf } from './end-lease.ts'
import { rowOf, rowsOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

type ClaimRow = LiveLease & {
  group_name: string
  claimed_at: number
  deadline: number | null
}

const COLUMNS = 'l.token, l.consumer, l.kind, l.first_id, l.size, l.settled, l.claimed_at, l.deadline, s.group_name'

/** The live leases, oldest first. Few are live, so sorting them is cheaper than an index. */
export function listClaims(
  tx: Transaction,
  topic: TopicRecord,
  { subscriptionId, consumer, after, limit, named: most }: ClaimsQuery,
): ClaimRecord[] {
  return rowsOf<ClaimRow>(
    tx.prepare(`
      select ${COLUMNS}
      from tidemark_subscription s
      join tidemark_lease l on l.subscription_id = s.id and l.done_at is null and l.expired_at is null
      where s.topic_id = ?1 and (?2 is null or s.id = ?2) and (?3 is null or l.consumer = ?3)
        and (?4 is null or (l.claimed_at, l.token) > (cast(?4 as integer), ?5))
      order by l.claimed_at, l.token
      limit ?6`),
    topic.id,
    subscriptionId ?? null,
    consumer ?? null,
    after?.place ?? null,
    after?.token ?? null,
    limit,
  ).map(row => toClaim(tx, topic, row, most))
}

/** Sums up the live leases of a group by consumer. */
export function listHolders(tx: Transaction, { id }: Pick<SubscriptionRecord, 'id'>): LeaseHolder[] {
  const leases = rowsOf<Pick<ClaimRow, 'consumer' | 'size' | 'settled' | 'deadline'>>(
    tx.prepare(`
      select consumer, size, settled, deadline from tidemark_lease
      where subscription_id = ? and done_at is null and expired_at is null
      order by consumer`),
    id,
  )
  return [...Map.groupBy(leases, ({ consumer }) => consumer)].map(([consumer, held]) => {
    const deadlines = held.flatMap(({ deadline }) => (deadline === null ? [] : [deadline]))
    return {
      consumer,
      inFlight: held.reduce((sum, { size, settled }) => sum + size - countBits(settled), 0),
      until: deadlines.length === 0 ? null : Math.min(...deadlines),
    }
  })
}

/** Call it inside a durable transaction. */
export function releaseClaim(tx: Transaction, topic: TopicRecord, token: string): ReleasedClaimRecord | undefined {
  const lease = rowOf<LiveLease & { id: number; group_name: string }>(
    tx.prepare(`
      select ${COLUMNS}, s.id
      from tidemark_lease l
      join tidemark_subscription s on s.id = l.subscription_id
      where l.token = ? and s.topic_id = ? and l.done_at is null and l.expired_at is null`),
    token,
    topic.id,
  )
  if (lease === undefined) return undefined
  const now = tx.now()
  const subscription: Pick<SubscriptionRecord, 'id' | 'group'> = { id: lease.id, group: lease.group_name }
  const error = new ClaimReleasedError(lease.consumer)
  const { taken, dead } = endLease(tx, topic, subscription, lease, { now, dueAt: now, error })
  return { ...taken, group: lease.group_name, deadLettered: dead }
}

function toClaim(tx: Transaction, topic: TopicRecord, row: ClaimRow, most: number): ClaimRecord {
  const unsettled = unsettledOf(tx, row)
  const first = unsettled.slice(0, most)
  const ids = unsettled.map(({ id }) => id)
  return {
    token: row.token,
    group: row.group_name,
    consumer: row.consumer,
    size: row.size,
    claimedAt: row.claimed_at,
    deadline: row.deadline,
    place: String(row.claimed_at),
    unsettled: unsettled.length,
    firstId: ids.reduce<number | null>((lowest, id) => Math.min(lowest ?? id, id), null),
    lastId: ids.reduce<number | null>((highest, id) => Math.max(highest ?? id, id), null),
    messages: named(tx, topic, first).map((message, index) => ({
      ...message,
      attempt: first[index]?.attempts ?? 1,
    })),
  }
}
