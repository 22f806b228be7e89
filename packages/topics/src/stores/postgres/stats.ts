import { readTopicConfig, type StoredTopicConfig } from '../../topic-config.ts'
import type { StatsRecord, TopicStatsRecord } from '../inspection.ts'
import type { Database } from './database.ts'
import { codeOf } from './database-errors.ts'
import { EXACT_BACKLOG, type GroupRow, toGroup } from './describe.ts'
import { toJob } from './jobs.ts'
import type { Row } from './row.ts'

/** With the namespace check in the statement itself: while somebody watches, it runs every second. */
const STATS = `
  select n.incarnation, s.now, s.topics, s.jobs
  from tidemark.namespace as n
  left join lateral tidemark_fn.stats($1, $2, $3) as s on true`

const ATTEMPTS = 3
const UNDEFINED_TABLE = '42P01'

type TopicRow = Pick<TopicStatsRecord, 'topic' | 'storage'> & {
  readonly config: StoredTopicConfig
  readonly published: number
  readonly first: number
  readonly last: number
  readonly retained: number
  readonly groups: readonly GroupRow[]
}

export async function readStats(database: Database, most: number, withStorage: boolean): Promise<StatsRecord> {
  const values = [EXACT_BACKLOG, most, withStorage]
  const [row] = await whileLogsGo(() => database.query(database.sql(STATS), values, 'tidemark_stats'))
  database.assertIncarnation(row?.incarnation)
  return toStats(row)
}

/** The columns `now`, `topics` and `jobs`. */
export function toStats(row: Row | undefined): StatsRecord {
  const now = Number(row?.now)
  const topics = JSON.parse(row?.topics ?? '[]') as TopicRow[]
  return {
    now,
    jobs: (JSON.parse(row?.jobs ?? '[]') as Record<string, unknown>[]).map(toJob),
    topics: topics.map(({ topic, config, storage, published, first, last, retained, groups }) => ({
      ...{ topic, storage, retained },
      config: readTopicConfig(config),
      messagesPublished: published,
      firstId: retained > 0 ? first : null,
      lastId: last,
      groups: groups.map(group => toGroup(group, now)),
    })),
  }
}

/** Retries if a topic's log was dropped between listing and reading it. */
export async function whileLogsGo<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read()
    } catch (error) {
      if (codeOf(error instanceof Error && error.cause) !== UNDEFINED_TABLE || attempt === ATTEMPTS) throw error
    }
  }
}
