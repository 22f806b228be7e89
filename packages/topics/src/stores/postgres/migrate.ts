import { DatabaseVersionError } from '../../errors.ts'
import { type AppliedMigration, checksumOf, isPreRelease, preReleaseError } from '../migration-checksums.ts'
import { type Database, type PooledSession, REWRITE_TIMEOUT_MS } from './database.ts'
import { codeOf } from './database-errors.ts'
import { installFunctions, migrationLock, useFunctions } from './install-functions.ts'
import type { Row } from './row.ts'
import { quoteIdentifier } from './schema-name.ts'
import { sqlFile } from './sql-file.ts'

export const OLDEST_SERVER = 140_000

/** A numbered file of schema/: tables, indexes and sequences. One that was released is never edited, the next is appended. */
export type Migration = { readonly sql: string; readonly checksum: string }

export const toMigration = (sql: string): Migration => ({ sql, checksum: checksumOf(sql) })

const MIGRATIONS: readonly Migration[] = ['001_tables.sql'].map(file => toMigration(sqlFile(`./schema/${file}`)))

export const NEWEST = MIGRATIONS.length

/** Through to_jsonb, because that of a pre-release has no checksum. */
const APPLIED = "select version, to_jsonb(m) ->> 'checksum' as checksum from tidemark.migration as m order by version"

const CREATE_MIGRATION = `
  create table if not exists tidemark.migration (
    version int primary key,
    checksum text not null,
    applied_at timestamptz not null default clock_timestamp()
  )`

const RECORD = 'insert into tidemark.migration (version, checksum) values ($1, $2)'

/** No right to create a schema or a table. */
const NOT_ALLOWED = '42501'

/**
 * Brings the namespace's tables up to date, installs this version's functions beside them, and gives the version that the
 * tables had. Processes that start at once wait for the first, and find it done.
 */
export async function migrate(database: Database, migrations = MIGRATIONS): Promise<number> {
  await checkServer(database)
  const found = await schemaVersion(database, migrations)
  if (found === migrations.length && (await useFunctions(database))) return found
  try {
    return await database.transaction(client => bringUpToDate(database, client, migrations), REWRITE_TIMEOUT_MS)
  } catch (error) {
    if (codeOf(error instanceof Error ? error.cause : error) === NOT_ALLOWED)
      throw notAllowedError(database, found, error)
    throw error
  }
}

async function bringUpToDate(
  database: Database,
  client: PooledSession,
  migrations: readonly Migration[],
): Promise<number> {
  await client.query('select pg_advisory_xact_lock($1)', [migrationLock(database.schema)])
  // "if not exists" alone asks for the right to create even where an administrator has made the schema.
  const { rows: there } = await client.query('select from pg_namespace where nspname = $1', [database.schema])
  if (there.length === 0) await client.query(`create schema if not exists ${quoteIdentifier(database.schema)}`)
  await client.query(database.sql(CREATE_MIGRATION))
  const { rows } = await client.query<Row>(database.sql(APPLIED))
  const version = usableVersion(database, rows.map(toApplied), migrations)
  for (const [index, { sql, checksum }] of migrations.entries()) {
    if (index < version) continue
    await client.query(database.sql(sql))
    await client.query(database.sql(RECORD), [index + 1, checksum])
  }
  await installFunctions(database, client)
  return version
}

async function checkServer(database: Database): Promise<void> {
  const [row] = await database.query('show server_version_num')
  const version = Number(row?.server_version_num)
  if (version >= OLDEST_SERVER) return
  throw new DatabaseVersionError(
    `PostgreSQL at ${database.location} is version ${Math.floor(version / 10_000)}; Tidemark needs 14 or later. ` +
      `Upgrade the server, or use a SQLite database`,
  )
}

/** 0 where there is no schema yet. Looks without a lock, so that a start on a ready schema needs no right to create. */
export async function schemaVersion(database: Database, migrations = MIGRATIONS): Promise<number> {
  return usableVersion(database, await appliedMigrations(database), migrations)
}

/** Looks only, and refuses nothing. */
export async function findSchema(database: Database): Promise<{ version: number; isPreRelease: boolean }> {
  const applied = await appliedMigrations(database)
  return { version: applied.at(-1)?.version ?? 0, isPreRelease: isPreRelease(applied, checksumsOf(MIGRATIONS)) }
}

async function appliedMigrations(database: Database): Promise<AppliedMigration[]> {
  const [there] = await database.query('select to_regclass($1) is not null as there', [
    `${quoteIdentifier(database.schema)}.migration`,
  ])
  if (there?.there !== 't') return []
  return (await database.query(database.sql(APPLIED))).map(toApplied)
}

const toApplied = ({ version, checksum }: Row): AppliedMigration => ({
  version: Number(version),
  checksum: checksum ?? null,
})

/** 0 where nothing was applied. */
function usableVersion(
  database: Database,
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): number {
  const version = applied.at(-1)?.version ?? 0
  if (version > migrations.length) throw newerError(database, version, migrations.length)
  if (!isPreRelease(applied, checksumsOf(migrations))) return version
  const schema = quoteIdentifier(database.schema)
  throw preReleaseError(
    `Schema ${database.schema} at ${database.location}`,
    `Drop it with 'drop schema ${schema} cascade' if its messages are not needed, or use another namespace`,
  )
}

const checksumsOf = (migrations: readonly Migration[]): string[] => migrations.map(({ checksum }) => checksum)

function newerError(database: Database, version: number, newest: number): DatabaseVersionError {
  return new DatabaseVersionError(
    `Schema ${database.schema} at ${database.location} was written by a newer Tidemark (schema version ${version}, ` +
      `this one knows ${newest}). Upgrade this process`,
  )
}

function notAllowedError(database: Database, found: number, cause: unknown): DatabaseVersionError {
  const missing =
    found === 0
      ? `There is no namespace in schema ${database.schema} at ${database.location}`
      : `Schema ${database.schema} at ${database.location} lacks a part that this version of Tidemark needs (schema version ` +
        `${NEWEST}, functions in schema ${database.functions})`
  return new DatabaseVersionError(
    `${missing}, and this user may not create it. Grant it CREATE on the database, run 'tidemark migrate' of this version as ` +
      `a user that has that right, or have an administrator run what 'tidemark migrate --sql' prints`,
    cause,
  )
}
