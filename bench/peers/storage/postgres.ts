import type pg from 'pg'
import { connect } from '../../topics/engines/postgres-client.ts'
import { pause, type Storage } from '../contender.ts'

/** Sessions hand in their statistics within a second. */
const STATISTICS_MS = 1_100

const READ = `
  select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as written, pg_database_size(current_database()) as stored,
    (select coalesce(sum(n_dead_tup), 0) from pg_stat_user_tables) as dead`

export type PostgresBooks = AsyncDisposable & {
  readonly client: pg.Client
  gatherStatistics(): Promise<void>
  storage(): Promise<Storage>
}

/** What the server's own books say of a database, over a connection beside that of whoever is measured. */
export async function openPostgresBooks(url: string): Promise<PostgresBooks> {
  const client = await connect(url)
  return {
    client,
    gatherStatistics: async () => void (await client.query('analyze')),
    async storage() {
      await pause(STATISTICS_MS)
      const { rows } = await client.query<{ [name in keyof Storage]: string }>(READ)
      const [row] = rows
      return { written: Number(row?.written), stored: Number(row?.stored), dead: Number(row?.dead) }
    },
    [Symbol.asyncDispose]: async () => await client.end(),
  }
}
