import type { PostgresConnection } from './connection.ts'

const TABLES = ['environment_tick', 'organism_tick', 'organism', 'series', 'batch_processing', 'dummy_tick']

/** Room of removed rows is there for new ones at once, not when the server gets round to it. */
export async function reclaim(connection: PostgresConnection): Promise<void> {
  for (const table of TABLES) {
    if (await connection.hasTable(table)) await connection.read(`vacuum (truncate false) run.${table}`)
  }
}
