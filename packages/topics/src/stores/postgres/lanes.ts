import type { GroupMarks, LanesQuery, LanesRecord } from '../lanes.ts'
import type { TopicRecord } from '../topic-record.ts'
import { EXACT_BACKLOG, type GroupRow, toGroup } from './describe.ts'
import type { Transaction } from './transaction.ts'

const LANES = 'select * from tidemark_fn.lanes($1, $2, $3, $4, $5, $6, $7)'

/** Retries and dead letters that are counted per group. */
const MOST_COUNTED = 10_000

export async function readLanes(
  tx: Transaction,
  topic: TopicRecord,
  { from, to, buckets, most }: LanesQuery,
): Promise<LanesRecord> {
  const values = [topic.id, from ?? null, to ?? null, buckets, EXACT_BACKLOG, most, MOST_COUNTED]
  const [row] = await tx.query(tx.sql(LANES), values)
  const now = Number(row?.now)
  const groups = JSON.parse(row?.groups ?? '[]') as GroupRow[]
  const marks = JSON.parse(row?.marks ?? '{}') as { readonly [group: string]: GroupMarks }
  return {
    now,
    firstId: Number(row?.retained) > 0 ? Number(row?.first) : null,
    lastId: Number(row?.last),
    buckets: JSON.parse(row?.buckets ?? '[]'),
    groups: groups.map(group => ({ ...toGroup(group, now), ...(marks[group.group_name] ?? NO_MARKS) })),
  }
}

const NO_MARKS: GroupMarks = { leases: [], waitingRetries: [], deadIds: [] }
