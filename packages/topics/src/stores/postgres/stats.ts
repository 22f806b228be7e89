import type { StatsRecord, TopicStatsRecord } from '../inspection.ts'
import { codeOf } from './database-errors.ts'
import { EXACT_BACKLOG, type GroupRow, toGroup } from './describe.ts'
import { toJob } from './jobs.ts'
import type { Transaction } from './transaction.ts'

const STATS = 'select * from tidemark_fn.stats($1, $2, $3)'

const ATTEMPTS = 3
const UNDEFINED_TABLE = '42P01'

type TopicRow = Pick<TopicStatsRecord, 'topic' | 'semantics' | 'storage'> & {
  readonly published: number
  readonly first: number
  readonly last: number
  readonly retained: number
  readonly groups: readonly GroupRow[]
}

export async function readStats(tx: Transaction, most: number, withStorage: boolean): Promise<StatsRecord> {
  const [row] = await tx.query(tx.sql(STATS), [EXACT_BACKLOG, most, withStorage])
  const now = Number(row?.now)
  const topics = JSON.parse(row?.topics ?? '[]') as TopicRow[]
  return {
    now,
    jobs: (JSON.parse(row?.jobs ?? '[]') as Record<string, unknown>[]).map(toJob),
    topics: topics.map(({ topic, semantics, storage, published, first, last, retained, groups }) => ({
      ...{ topic, semantics, storage, retained },
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
