import type pg from 'pg'
import type { WriteCounter, Writes } from './engine.ts'
import { connect } from './postgres-client.ts'
import { settledStatistics } from './postgres-statistics.ts'

const COUNTS = `
  select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal,
    coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del) filter (where relname in ('lease', 'retry', 'subscription')), 0) as groups,
    coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del) filter (where relname like 'log\\_%'), 0) as logs
  from pg_stat_user_tables`

/** Rows from the server's own statistics, bytes from the position of its write-ahead log. */
export async function countPostgresWrites(url: string): Promise<WriteCounter> {
  const client = await connect(url)
  await settledStatistics(client)
  const before = await readCounts(client)
  return {
    read: async () => {
      await settledStatistics(client)
      const after = await readCounts(client)
      return {
        walBytes: after.walBytes - before.walBytes,
        groupRows: after.groupRows - before.groupRows,
        logRows: after.logRows - before.logRows,
      }
    },
    [Symbol.asyncDispose]: async () => await client.end(),
  }
}

async function readCounts(client: pg.Client): Promise<Writes> {
  const { rows } = await client.query<{ wal: string; groups: string; logs: string }>(COUNTS)
  const [row] = rows
  return { walBytes: Number(row?.wal), groupRows: Number(row?.groups), logRows: Number(row?.logs) }
}
