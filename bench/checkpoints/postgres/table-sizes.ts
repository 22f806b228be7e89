import type pg from 'pg'

export type TableSize = {
  readonly name: string
  readonly live: number
  readonly dead: number
  /** Dead rows as a share of all, in percent, as the specification measures bloat. */
  readonly deadPercent: number
  /** With indexes. */
  readonly bytes: number
}

/** The tables of the default namespace. Numbers of rows are those of the server's statistics. */
export async function tableSizes(client: pg.Client): Promise<TableSize[]> {
  await client.query('select pg_stat_force_next_flush()')
  await client.query('select pg_stat_clear_snapshot()')
  const { rows } = await client.query<{ name: string; live: string; dead: string; bytes: string }>(`
    select relname as name, n_live_tup as live, n_dead_tup as dead, pg_total_relation_size(relid) as bytes
    from pg_stat_user_tables where schemaname = 'tidemark' order by relname`)
  return rows.map(({ name, ...row }) => {
    const [live, dead] = [Number(row.live), Number(row.dead)]
    return { name, live, dead, deadPercent: dead === 0 ? 0 : (100 * dead) / (live + dead), bytes: Number(row.bytes) }
  })
}

/** Logs and what is tracked of their messages: they grow with the messages. All others grow with groups and claims. */
export const isLog = ({ name }: Pick<TableSize, 'name'>): boolean => /^(log|track)_/.test(name)

/** Position in the write-ahead log, in bytes. */
export async function walPosition(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(
    "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes",
  )
  return Number(rows[0]?.bytes)
}
