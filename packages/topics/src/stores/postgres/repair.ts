import { DatabaseInUseError } from '../../errors.ts'
import type { RepairReport } from '../repair-report.ts'
import { type Database, REWRITE_TIMEOUT_MS } from './database.ts'
import { usersLock } from './listener.ts'
import { migrate } from './migrate.ts'
import type { Row } from './row.ts'

/** A lock of 64 bits is listed in two halves. */
const USERS = `
  select l.pid, coalesce(nullif(a.application_name, ''), 'unnamed') as application
  from pg_locks as l
  left join pg_stat_activity as a on a.pid = l.pid
  where l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and (l.classid::bigint << 32) | l.objid::bigint = $1::bigint
    and l.database = (select oid from pg_database where datname = current_database())
  order by l.pid`

/** Tells a namespace that was restored into another cluster anew, in this one's terms. Again changes nothing. */
export async function repair(database: Database): Promise<RepairReport> {
  await migrate(database)
  const done = await database.transaction(async client => {
    const key = usersLock(database.schema)
    const { rows } = await client.query('select pg_try_advisory_xact_lock($1) as alone', [key])
    if (!rows[0]?.alone) {
      const { rows: users } = await client.query<{ pid: number; application: string }>(USERS, [key])
      const named = users.map(({ pid, application }) => `${application} (pid ${pid})`)
      throw new DatabaseInUseError(`${database.location} (schema ${database.schema})`, named)
    }
    return (await client.query<Row>(database.sql('select * from tidemark_fn.repair()'))).rows[0]
  }, REWRITE_TIMEOUT_MS)
  const { location } = database
  if (done?.state !== 'restored') return { location, mended: true, problems: [], changes: changesOf(done?.state ?? '') }
  return {
    location,
    mended: true,
    problems: ["The namespace was restored from another server: its positions were told in that server's transactions"],
    changes: [
      `${done.messages} messages of ${done.topics} topics have new transaction ids`,
      `${done.groups} groups have new cursors; ${done.retries} messages that lay before them wait as retries`,
    ],
  }
}

const changesOf = (state: string): string[] =>
  state === 'moved' ? ['The namespace is at home on this server now; its positions hold as they are'] : []
