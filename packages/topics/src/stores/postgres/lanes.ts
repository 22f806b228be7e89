import { TopicNotFoundError } from '../../errors.ts'
import type { GroupMarks, LanesQuery, LanesRecord } from '../lanes.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Database } from './database.ts'
import { EXACT_BACKLOG, type GroupRow, toGroup } from './describe.ts'

/** With the checks of namespace and topic in the statement itself: while somebody looks, it runs four times a second. */
const LANES = `
  select n.incarnation, t.config_version, l.*
  from tidemark.namespace as n
  left join tidemark.topic as t on t.id = $1 and t.uid = $8
  left join lateral (select x.* from (select where t.id is not null) as known
    cross join lateral tidemark_fn.lanes(t.id, $2, $3, $4, $5, $6, $7) as x) as l on true`

/** Retries and dead letters that are counted per group. */
const MOST_COUNTED = 10_000

export async function readLanes(
  database: Database,
  topic: TopicRecord,
  { from, to, buckets, most }: LanesQuery,
): Promise<LanesRecord> {
  const values = [topic.id, from ?? null, to ?? null, buckets, EXACT_BACKLOG, most, MOST_COUNTED, topic.uid]
  const [row] = await database.query(database.sql(LANES), values, 'tidemark_lanes')
  database.assertIncarnation(row?.incarnation)
  if (row?.now == null) throw new TopicNotFoundError(topic.name)
  const now = Number(row?.now)
  const groups = JSON.parse(row?.groups ?? '[]') as GroupRow[]
  const marks = JSON.parse(row?.marks ?? '{}') as { readonly [group: string]: GroupMarks }
  return {
    now,
    configVersion: Number(row.config_version),
    firstId: Number(row?.retained) > 0 ? Number(row?.first) : null,
    lastId: Number(row?.last),
    buckets: JSON.parse(row?.buckets ?? '[]'),
    groups: groups.map(group => ({ ...toGroup(group, now), ...(marks[group.group_name] ?? NO_MARKS) })),
  }
}

const NO_MARKS: GroupMarks = { leases: [], waitingRetries: [], deadIds: [] }
