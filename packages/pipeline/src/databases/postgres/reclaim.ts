import type { PostgresConnection } from './connection.ts'

const TABLES = ['environment_tick', 'organism_tick', 'organism', 'series', 'batch_processing', 'dummy_tick']

/** Space of removed rows is reused at once, not only after the next autovacuum. */
export async function reclaim(connection: PostgresConnection): Promise<void> {
  for (const table of TABLES) {
    if (await connection.hasTable(table)) await connection.read(`vacuum (truncate false) run.${table}`)
  }
}
