import type { StatsRecord, TopicStats } from '../inspection.ts'
import type { Database } from './database.ts'
import { EXACT_BACKLOG, type GroupRow, toGroup } from './describe.ts'
import { toJob } from './jobs.ts'

const STATS = 'select * from tidemark_fn.stats($1, $2)'

/** A topic's log may go between the list and the look at it. */
const ATTEMPTS = 3
const UNDEFINED_TABLE = '42P01'

type TopicRow = Pick<TopicStats, 'topic' | 'semantics' | 'removable'> & {
  readonly published: number
  readonly groups: readonly GroupRow[]
}

export async function readStats(database: Database, most: number): Promise<StatsRecord> {
  const [row] = await read(database, most)
  const now = Number(row?.now)
  const topics = JSON.parse(row?.topics ?? '[]') as TopicRow[]
  return {
    now,
    jobs: (JSON.parse(row?.jobs ?? '[]') as Record<string, unknown>[]).map(toJob),
    topics: topics.map(({ published, groups, ...topic }) => ({
      ...topic,
      messagesPublished: published,
      groups: groups.map(group => toGroup(group, now)),
    })),
  }
}

async function read(database: Database, most: number): ReturnType<Database['query']> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.query(database.sql(STATS), [EXACT_BACKLOG, most])
    } catch (error) {
      const { cause } = error as { cause?: { code?: unknown } }
      if (cause?.code !== UNDEFINED_TABLE || attempt === ATTEMPTS) throw error
    }
  }
}
