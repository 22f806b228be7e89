import type { JobLock, JobRecord } from '../fan-out-store.ts'
import { type Connection, rowsOf } from './connection.ts'

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

export function lockJob(connection: Connection, name: string, { token, ttlMs, everyMs }: JobLock): boolean {
  const now = connection.now()
  const { changes } = connection
    .prepare(`
      insert into tidemark_job (name, token, locked_until, started_at) values (?1, ?2, ?3 + ?4, ?3)
      on conflict (name) do update
      set token = excluded.token, locked_until = excluded.locked_until, started_at = excluded.started_at
      where (token is null or locked_until < ?3) and (?5 is null or started_at is null or started_at <= ?3 - ?5)`)
    .run(name, token, now, ttlMs, everyMs ?? null)
  return changes === 1
}

export function renewJob(connection: Connection, name: string, { token, ttlMs }: JobLock): boolean {
  const { changes } = connection
    .prepare('update tidemark_job set locked_until = ? where name = ? and token = ?')
    .run(connection.now() + ttlMs, name, token)
  return changes === 1
}

export function unlockJob(connection: Connection, name: string, token: string, result: unknown): void {
  connection
    .prepare(`
      update tidemark_job
      set token = null, locked_until = null, finished_at = ?1, runs = runs + 1, result = ?2, took_ms = ?1 - started_at,
        succeeded_at = case
          when json_extract(?2, '$.error') is null and coalesce(json_extract(?2, '$.failed'), 0) = 0 then ?1
          else succeeded_at end
      where name = ?3 and token = ?4`)
    .run(connection.now(), JSON.stringify(result ?? null), name, token)
}

export function listJobs(connection: Connection): JobRecord[] {
  const now = connection.now()
  return rowsOf<JobRow>(connection.prepare('select * from tidemark_job order by name')).map(row => ({
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
