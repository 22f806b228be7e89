import type { HorizonHolder } from '../inspection.ts'
import { normalisedQuery } from './normalised-query.ts'

/** Longer than any query that is shown. */
const SHORT_QUERY = 'left(a.query, 4000)'

/**
 * Covers every database of the server, because snapshots list all its running transactions. A user without
 * pg_read_all_stats sees other users' transactions, but not their queries.
 */
const HOLDERS = `
  select pid, state, application, age, query from (
    select a.pid, coalesce(a.state, 'unknown') as state, coalesce(a.application_name, '') as application,
      extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.backend_start)) * 1000 as age, ${SHORT_QUERY} as query
    from pg_stat_activity as a
    where (a.backend_xid is not null or a.backend_xmin is not null) and a.pid <> pg_backend_pid()
      and a.backend_type in ('client backend', 'background worker')
    union all
    select 0, 'prepared', p.owner::text, extract(epoch from clock_timestamp() - p.prepared) * 1000,
      format('prepared transaction %s; end it with COMMIT PREPARED or ROLLBACK PREPARED', p.gid)
    from pg_prepared_xacts as p
  ) as holder
  order by age desc
  limit 20`

/** As one value, for a statement that asks for more. */
export const HOLDERS_JSON = `(select coalesce(json_agg(h order by h.age desc), '[]') from (${HOLDERS}) as h)`

type HolderRow = {
  readonly pid: number
  readonly state: string
  readonly application: string
  readonly age: number
  readonly query: string
}

export const toHolders = (json: string | null | undefined): HorizonHolder[] =>
  (JSON.parse(json ?? '[]') as HolderRow[]).map(({ pid, state, application, age, query }) => ({
    pid,
    ageMs: Math.max(0, Math.round(age)),
    state,
    application,
    query: state === 'prepared' ? query : normalisedQuery(query),
  }))
