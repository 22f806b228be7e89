import type { Examination, TopicFacts, UnsubscribedTopic, ZombieGroup } from '../inspection.ts'
import type { Database } from './database.ts'
import { EXACT_BACKLOG } from './describe.ts'
import { HOLDERS_JSON, toHolders } from './horizon.ts'
import { toStats, whileLogsGo } from './stats.ts'

/** One statement, however many topics there are. */
const EXAMINE = `
  select n.incarnation, e.*, ${HOLDERS_JSON} as holders
  from tidemark.namespace as n
  left join lateral tidemark_fn.examine($1, $2) as e on true`

type FactsRow = Pick<TopicFacts, 'createdAt' | 'heldAt' | 'inconsistencies'> & {
  readonly room: number
  readonly rows: number
}

export async function examine(database: Database, most: number): Promise<Examination> {
  const values = [EXACT_BACKLOG, most]
  const [row] = await whileLogsGo(() => database.query(database.sql(EXAMINE), values, 'tidemark_examine'))
  database.assertIncarnation(row?.incarnation)
  const stats = toStats(row)
  const facts = JSON.parse(row?.facts ?? '{}') as { readonly [topic: string]: FactsRow }
  const strays = JSON.parse(row?.strays ?? '[]') as string[]
  return {
    stats,
    facts: stats.topics.flatMap(({ topic }, index): TopicFacts[] => {
      const found = facts[topic]
      if (found === undefined) return []
      const { createdAt, heldAt, inconsistencies, room, rows } = found
      // A record that belongs to no topic is reported with the first.
      const all = index === 0 ? [...inconsistencies, ...strays] : inconsistencies
      return [{ topic, createdAt, heldAt, inconsistencies: all, partitions: { room, rows } }]
    }),
    zombies: JSON.parse(row?.zombies ?? '[]') as ZombieGroup[],
    unsubscribed: JSON.parse(row?.unsubscribed ?? '[]') as UnsubscribedTopic[],
    horizonHolders: toHolders(row?.holders),
  }
}
