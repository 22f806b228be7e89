import { atMost, figure } from '../../figure.ts'
import type { BenchCase } from '../bench-case.ts'
import { connect } from '../engines/postgres-client.ts'
import { settledStatistics } from '../engines/postgres-statistics.ts'

const DEAD = `
  select coalesce(sum(n_dead_tup), 0) as dead, coalesce(sum(n_tup_upd + n_tup_del), 0) as changed
  from pg_stat_user_tables
  where relname like 'log\\_%'`

export const deadTuples: BenchCase = {
  name: 'dead-tuples',
  about: 'dead rows in the logs after all the other cases',
  engines: ['postgres'],
  async run({ engine }) {
    const client = await connect(engine.url)
    try {
      await settledStatistics(client)
      const { rows } = await client.query<{ dead: string; changed: string }>(DEAD)
      const measured = { engine: engine.name, unit: 'rows', target: atMost(0, 'rows') } as const
      const note = 'pg_stat_user_tables, log_*, all sessions ended'
      return [
        figure({
          case: 'dead tuples of the logs',
          ...measured,
          ours: Number(rows[0]?.dead),
          note: `n_dead_tup of ${note}`,
        }),
        // Autovacuum may have cleared dead rows away; these counts it leaves alone.
        figure({
          case: 'updates and deletes in the logs',
          ...measured,
          ours: Number(rows[0]?.changed),
          note: `of ${note}`,
        }),
      ]
    } finally {
      await client.end()
    }
  },
}
