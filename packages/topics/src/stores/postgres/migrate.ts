import { DatabaseVersionError } from '../../errors.ts'
import { type AppliedMigration, isPreRelease, preReleaseError } from '../migration-checksums.ts'
import { type Database, type PooledSession, REWRITE_TIMEOUT_MS } from './database.ts'
import { codeOf } from './database-errors.ts'
import {
  areFunctionsInstalled,
  areFunctionsShared,
  dropUnusedFunctions,
  migrationLock,
  useFunctions,
} from './install-functions.ts'
import type { Row } from './row.ts'
import { quoteIdentifier } from './schema-name.ts'
import { MIGRATIONS, type Present, upgradeSql } from './upgrade-sql.ts'

export const OLDEST_SERVER = 140_000

export const NEWEST = MIGRATIONS.length

const CHECKSUMS = MIGRATIONS.map(({ checksum }) => checksum)

/** Through to_jsonb, because that of a pre-release has no checksum. */
const APPLIED = "select version, to_jsonb(m) ->> 'checksum' as checksum from tidemark.migration as m order by version"

/** As partition_room() and make_partitions_ahead() say. */
const RUNS_SHORT = `
  select
  from tidemark.topic as t
  cross join lateral (select (t.config ->> 'partitionRows')::bigint as rows) as size
  where coalesce((
    select max(substring(c.relname from '_p([0-9]+)$')::bigint) + 1
    from pg_inherits as i
    join pg_class as c on c.oid = i.inhrelid
    where i.inhparent = to_regclass(format('tidemark.log_%s', t.id)) and not i.inhdetachpending
  ), 0) * size.rows - 1 - coalesce(pg_sequence_last_value(to_regclass(format('tidemark.log_%s_id', t.id))), 0) < size.rows`

/** No right to create a schema or a table. */
const NOT_ALLOWED = '42501'

/**
 * Brings the namespace's tables up to date, installs this version's functions beside them, and gives the version that the
 * tables had. Processes that start at once wait for the first, and find it done.
 */
export async function migrate(database: Database): Promise<number> {
  await checkServer(database)
  const found = await schemaVersion(database)
  if (found === NEWEST && (await useFunctions(database))) return found
  try {
    return await database.transaction(client => bringUpToDate(database, client), REWRITE_TIMEOUT_MS)
  } catch (error) {
    const isRefused = codeOf(error instanceof Error ? error.cause : error) === NOT_ALLOWED
    throw isRefused ? notAllowedError(database, found, error) : error
  }
}

/** As an operator does it: grants that were given since are passed on, partitions made ahead, and unused functions dropped. */
export async function migrateAndTidy(database: Database): Promise<number> {
  const found = await migrate(database)
  if (!(await areFunctionsShared(database))) {
    await database.transaction(client => bringUpToDate(database, client))
  }
  await database.work(database.sql('select tidemark_fn.make_partitions_ahead()'))
  await dropUnusedFunctions(database)
  return found
}

async function bringUpToDate(database: Database, client: PooledSession): Promise<number> {
  await client.query('select pg_advisory_xact_lock($1)', [migrationLock(database.schema)])
  const present = await presentOf(database, asQuery(client))
  await client.query(upgradeSql(database, present))
  return present.version
}

/** What `migrate` would run, for psql; '' where everything is there. Looks only. */
export async function migrationSql(database: Database): Promise<string> {
  await checkServer(database)
  const present = await presentOf(database, database.query.bind(database))
  const isReady = present.version === NEWEST && present.hasFunctions && present.hasGrants
  const isShort = present.version > 0 && (await runsShort(database))
  if (isReady && !isShort) return ''
  return [
    `-- Tidemark: schema ${database.schema}, from version ${present.version} to ${NEWEST}, with functions in ${database.functions}`,
    'begin;',
    `select pg_advisory_xact_lock(${migrationLock(database.schema)});`,
    upgradeSql(database, present),
    ...(isShort ? [database.sql('select tidemark_fn.make_partitions_ahead();')] : []),
    'commit;\n',
  ].join('\n')
}

/** By the catalogue alone: the functions may be missing, or of another version. */
async function runsShort(database: Database): Promise<boolean> {
  const rows = await database.query(database.sql(RUNS_SHORT))
  return rows.length > 0
}

type Query = (text: string, values?: unknown[]) => Promise<Row[]>

const asQuery =
  (client: PooledSession): Query =>
  async (text, values = []) =>
    (await client.query<Row>(text, values)).rows

async function presentOf(database: Database, query: Query): Promise<Present> {
  const schemas = await query('select from pg_namespace where nspname = $1', [database.schema])
  return {
    hasSchema: schemas.length > 0,
    version: usableVersion(database, await appliedMigrations(database, query)),
    hasFunctions: await areFunctionsInstalled(database, query),
    hasGrants: await areFunctionsShared(database, query),
  }
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
export async function schemaVersion(database: Database): Promise<number> {
  return usableVersion(database, await appliedMigrations(database))
}

/** Looks only, and refuses nothing. */
export async function findSchema(database: Database): Promise<{ version: number; isPreRelease: boolean }> {
  const applied = await appliedMigrations(database)
  return { version: applied.at(-1)?.version ?? 0, isPreRelease: isPreRelease(applied, CHECKSUMS) }
}

async function appliedMigrations(
  database: Database,
  query: Query = database.query.bind(database),
): Promise<AppliedMigration[]> {
  const table = `${quoteIdentifier(database.schema)}.migration`
  const there = await query('select from (select to_regclass($1) as oid) as c where oid is not null', [table])
  if (there.length === 0) return []
  return (await query(database.sql(APPLIED))).map(toApplied)
}

const toApplied = ({ version, checksum }: Row): AppliedMigration => ({
  version: Number(version),
  checksum: checksum ?? null,
})

/** 0 where nothing was applied. */
function usableVersion(database: Database, applied: readonly AppliedMigration[]): number {
  const version = applied.at(-1)?.version ?? 0
  if (version > NEWEST) throw newerError(database, version)
  if (!isPreRelease(applied, CHECKSUMS)) return version
  const schema = quoteIdentifier(database.schema)
  throw preReleaseError(
    `Schema ${database.schema} at ${database.location}`,
    `Drop it with 'drop schema ${schema} cascade' if its messages are not needed, or use another namespace`,
  )
}

function newerError(database: Database, version: number): DatabaseVersionError {
  return new DatabaseVersionError(
    `Schema ${database.schema} at ${database.location} was written by a newer Tidemark (schema version ${version}, ` +
      `this one knows ${NEWEST}). Upgrade this process`,
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
