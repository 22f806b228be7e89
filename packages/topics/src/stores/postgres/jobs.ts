import type { JobLock, JobRecord, Jobs } from '../jobs.ts'
import type { Database } from './database.ts'
import type { Transaction } from './transaction.ts'

/**
 * The job locks of one schema. Cleaning up messages drops and creates partitions: a process whose user may not do that
 * leaves scheduled runs to others.
 */
export function postgresJobs(database: Database, ownsTables: boolean): Jobs {
  return {
    lock: async (name, lock) => {
      if (name === 'messages' && lock.everyMs !== undefined && !ownsTables) return false
      return await database.transaction({}, tx => lockJob(tx, name, lock))
    },
    renew: (name, lock) => database.transaction({}, tx => renewJob(tx, name, lock)),
    unlock: (name, token, result) => database.transaction({}, tx => unlockJob(tx, name, token, result)),
    list: () => database.read({}, listJobs),
  }
}

const LOCK = `
  insert into tidemark.job as j (name, token, locked_until, started_at)
  values ($1, $2, clock_timestamp() + $3::float8 * interval '1 millisecond', clock_timestamp())
  on conflict (name) do update
  set token = excluded.token, locked_until = excluded.locked_until, started_at = excluded.started_at
  where (j.token is null or j.locked_until < clock_timestamp())
    and ($4::float8 is null or j.started_at is null or j.started_at <= clock_timestamp() - $4::float8 * interval '1 millisecond')
  returning j.name`

const RENEW = `
  update tidemark.job
  set locked_until = clock_timestamp() + $3::float8 * interval '1 millisecond'
  where name = $1 and token = $2
  returning name`

const UNLOCK = `
  update tidemark.job
  set token = null, locked_until = null, finished_at = clock_timestamp(), runs = runs + 1, result = $3,
    took_ms = extract(epoch from clock_timestamp() - started_at) * 1000,
    succeeded_at = case
      when $3::jsonb ->> 'error' is null and coalesce(($3::jsonb ->> 'failed')::int, 0) = 0 then clock_timestamp()
      else succeeded_at end
  where name = $1 and token = $2`

const LIST = `
  select name, token is not null and locked_until >= clock_timestamp() as running,
    extract(epoch from started_at) * 1000 as started_at, extract(epoch from finished_at) * 1000 as finished_at, runs, result,
    extract(epoch from succeeded_at) * 1000 as succeeded_at, took_ms
  from tidemark.job
  order by name`

async function lockJob(tx: Transaction, name: string, { token, ttlMs, everyMs }: JobLock): Promise<boolean> {
  const rows = await tx.query(tx.sql(LOCK), [name, token, ttlMs, everyMs ?? null])
  return rows.length > 0
}

async function renewJob(tx: Transaction, name: string, { token, ttlMs }: JobLock): Promise<boolean> {
  const rows = await tx.query(tx.sql(RENEW), [name, token, ttlMs])
  return rows.length > 0
}

async function unlockJob(tx: Transaction, name: string, token: string, result: unknown): Promise<void> {
  await tx.query(tx.sql(UNLOCK), [name, token, JSON.stringify(result ?? null)])
}

async function listJobs(tx: Transaction): Promise<JobRecord[]> {
  const rows = await tx.query(tx.sql(LIST))
  return rows.map(toJob)
}

/** From a row of text, or from JSON with the same columns. */
export const toJob = (row: Readonly<Record<string, unknown>>): JobRecord => ({
  name: String(row.name),
  running: row.running === 't' || row.running === true,
  startedAt: toMs(row.started_at),
  finishedAt: toMs(row.finished_at),
  runs: Number(row.runs),
  result: typeof row.result === 'string' ? JSON.parse(row.result) : (row.result ?? null),
  succeededAt: toMs(row.succeeded_at),
  tookMs: toMs(row.took_ms),
})

const toMs = (value: unknown): number | null =>
  value === null || value === undefined ? null : Math.floor(Number(value))
