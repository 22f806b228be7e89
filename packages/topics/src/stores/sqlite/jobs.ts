import type { JobLock, JobRecord, Jobs } from '../jobs.ts'
import type { Connection } from './connection.ts'
import { rowsOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

/** The job locks of one file. */
export function sqliteJobs(connection: Connection): Jobs {
  return {
    lock: (name, lock) => connection.write(false, tx => lockJob(tx, name, lock)),
    renew: (name, lock) => connection.write(false, tx => renewJob(tx, name, lock)),
    unlock: (name, token, result) => connection.write(false, tx => unlockJob(tx, name, token, result)),
    list: () => connection.read(listJobs),
  }
}

type JobRow = {
  name: string
  token: string | null
  locked_until: number | null
  started_at: number | null
  finished_at: number | null
  runs: number
  result: string | null
  succeeded_at: number | null
  took_ms: number | null
}

function lockJob(tx: Transaction, name: string, { token, ttlMs, everyMs }: JobLock): boolean {
  const now = tx.now()
  const { changes } = tx
    .prepare(`
      insert into tidemark_job (name, token, locked_until, started_at) values (?1, ?2, ?3 + ?4, ?3)
      on conflict (name) do update
      set token = excluded.token, locked_until = excluded.locked_until, started_at = excluded.started_at
      where (token is null or locked_until < ?3) and (?5 is null or started_at is null or started_at <= ?3 - ?5)`)
    .run(name, token, now, ttlMs, everyMs ?? null)
  return changes === 1
}

function renewJob(tx: Transaction, name: string, { token, ttlMs }: JobLock): boolean {
  const { changes } = tx
    .prepare('update tidemark_job set locked_until = ? where name = ? and token = ?')
    .run(tx.now() + ttlMs, name, token)
  return changes === 1
}

function unlockJob(tx: Transaction, name: string, token: string, result: unknown): void {
  tx.prepare(`
      update tidemark_job
      set token = null, locked_until = null, finished_at = ?1, runs = runs + 1, result = ?2, took_ms = ?1 - started_at,
        succeeded_at = case
          when json_extract(?2, '$.error') is null and coalesce(json_extract(?2, '$.failed'), 0) = 0 then ?1
          else succeeded_at end
      where name = ?3 and token = ?4`).run(tx.now(), JSON.stringify(result ?? null), name, token)
}

export function listJobs(tx: Transaction): JobRecord[] {
  const now = tx.now()
  return rowsOf<JobRow>(tx.prepare('select * from tidemark_job order by name')).map(row => ({
    name: row.name,
    running: row.token !== null && (row.locked_until ?? 0) >= now,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    runs: row.runs,
    result: row.result === null ? null : JSON.parse(row.result),
    succeededAt: row.succeeded_at,
    tookMs: row.took_ms,
  }))
}
