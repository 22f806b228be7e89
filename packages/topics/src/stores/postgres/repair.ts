import { DatabaseInUseError } from '../../errors.ts'
import type { RepairReport } from '../repair-report.ts'
import type { Database } from './database.ts'
import { usersLock } from './listener.ts'
import { migrate } from './migrate.ts'
import type { Row } from './row.ts'
import { REWRITE_TIMEOUT_MS } from './statement-limits.ts'
import type { Transaction } from './transaction.ts'

/** A 64-bit lock is listed in two halves. */
const USERS = `
  select l.pid, coalesce(nullif(a.application_name, ''), 'unnamed') as application
  from pg_locks as l
  left join pg_stat_activity as a on a.pid = l.pid
  where l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and (l.classid::bigint << 32) | l.objid::bigint = $1::bigint
    and l.database = (select oid from pg_database where datname = current_database())
  order by l.pid`

/**
 * Rewrites a namespace that was restored into another cluster in terms of this one's transaction ids. Running it again
 * changes nothing.
 */
export async function repair(database: Database): Promise<RepairReport> {
  await migrate(database)
  const done = await database.transaction(null, rewritePositions, REWRITE_TIMEOUT_MS)
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

async function rewritePositions(tx: Transaction): Promise<Row | undefined> {
  await requireAlone(tx)
  const [row] = await tx.query(tx.sql('select * from tidemark_fn.repair()'))
  return row
}

async function requireAlone(tx: Transaction): Promise<void> {
  const key = usersLock(tx.schema)
  const [lock] = await tx.query('select pg_try_advisory_xact_lock($1) as is_alone', [key])
  if (lock?.is_alone === 't') return
  const users = await tx.query(USERS, [key])
  const named = users.map(({ pid, application }) => `${application} (pid ${pid})`)
  throw new DatabaseInUseError(`${tx.location} (schema ${tx.schema})`, named)
}

const changesOf = (state: string): string[] =>
  state === 'moved' ? ['The namespace is at home on this server now; its positions hold as they are'] : []
