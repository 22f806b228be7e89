import { IndexVersionError } from '../errors.ts'
import { migrationsOf, readSqlFiles, refuseNewer } from '../sql/migrations.ts'
import type { PostgresConnection } from './connection.ts'
import { lockKey, quoteIdentifier } from './schema-name.ts'

const MIGRATIONS = migrationsOf(readSqlFiles(new URL('.', import.meta.url)))
const OLDEST_SERVER = 140_000

const CREATE_MIGRATION = `
  create table if not exists run.index_migration (version int primary key, applied_at bigint not null)`

const APPLIED = `
  insert into run.index_migration (version, applied_at)
  values ($1, (extract(epoch from clock_timestamp()) * 1000)::bigint)`

/** Brings the schema of the run up to date. Processes that start together wait for the first one. */
export async function migrate(connection: PostgresConnection): Promise<void> {
  await checkServer(connection)
  const newest = MIGRATIONS.at(-1)?.version ?? 0
  const found = await schemaVersion(connection)
  refuseNewer(`${connection.schema} at ${connection.location}`, found, newest)
  if (found === newest) return
  await connection.transaction(async tx => {
    await tx.rows('select pg_advisory_xact_lock($1)', lockKey(connection.schema))
    // "if not exists" requires the right to create even if an administrator has created the schema.
    const there = await tx.rows('select from pg_namespace where nspname = $1', connection.schema)
    if (there.length === 0) await tx.run(`create schema if not exists ${quoteIdentifier(connection.schema)}`)
    await tx.run(CREATE_MIGRATION)
    const [row] = await tx.rows<{ current: number }>(
      'select coalesce(max(version), 0) as current from run.index_migration',
    )
    const current = row?.current ?? 0
    refuseNewer(`${connection.schema} at ${connection.location}`, current, newest)
    for (const { version, sql } of MIGRATIONS) {
      if (version <= current) continue
      await tx.run(sql)
      await tx.run(APPLIED, version)
    }
  })
}

export async function schemaExists(connection: PostgresConnection): Promise<boolean> {
  return await connection.hasTable('index_migration')
}

/** For an index that is only read: the schema is not changed, and refused only if this version can't know it. */
export async function checkVersion(connection: PostgresConnection): Promise<void> {
  const { found, newest } = await versionsOf(connection)
  refuseNewer(`${connection.schema} at ${connection.location}`, found, newest)
}

async function checkServer(connection: PostgresConnection): Promise<void> {
  const [row] = await connection.read<{ server_version_num: string }>('show server_version_num')
  requireVersion(Number(row?.server_version_num), connection.location)
}

export function requireVersion(version: number, location: string): void {
  if (version >= OLDEST_SERVER) return
  throw new IndexVersionError(
    `PostgreSQL at ${location} is version ${Math.floor(version / 10_000)}; the index needs 14 or later. ` +
      `Upgrade the server, or use a SQLite index`,
  )
}

/** 0 if there is no schema. Takes no lock, so that a start on an up-to-date schema requires no right to create. */
async function schemaVersion(connection: PostgresConnection): Promise<number> {
  if (!(await schemaExists(connection))) return 0
  const [row] = await connection.read<{ version: number }>(
    'select coalesce(max(version), 0) as version from run.index_migration',
  )
  return row?.version ?? 0
}

/** Changes nothing. */
export async function versionsOf(connection: PostgresConnection): Promise<{ found: number; newest: number }> {
  const newest = MIGRATIONS.at(-1)?.version ?? 0
  return { found: await schemaVersion(connection), newest }
}
