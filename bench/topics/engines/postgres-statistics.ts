import type pg from 'pg'
import { until } from '../../../testing/until.ts'

/**
 * Waits until the server's statistics are complete. A session hands its counts in when it ends, so Tidemark has to be
 * closed; ours are handed in by force.
 */
export async function settledStatistics(client: pg.Client): Promise<void> {
  await until(() => isAlone(client), { what: `Tidemark's sessions to end` })
  await client.query('select pg_stat_force_next_flush()')
  await client.query('select pg_stat_clear_snapshot()')
}

async function isAlone(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(`select from pg_stat_activity where application_name = 'tidemark'`)
  return rows.length === 0
}
