import { DatabaseVersionError } from '../../errors.ts'
import { type AppliedMigration, isPreRelease, preReleaseError } from '../migration-checksums.ts'
import type { Database } from './database.ts'
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
import { REWRITE_TIMEOUT_MS } from './statement-limits.ts'
import type { Statements, Transaction } from './transaction.ts'
import { MIGRATIONS, type Present, upgradeSql } from './upgrade-sql.ts'

export const OLDEST_SERVER = 140_000

export const NEWEST = MIGRATIONS.length

/** Checksum of each migration, as recorded in the namespace. */
export const CHECKSUMS = MIGRATIONS.map(({ checksum }) => checksum)

/** Through to_jsonb, because the table of a pre-release has no checksum column. */
const APPLIED = "select version, to_jsonb(m) ->> 'checksum' as checksum from tidemark.migration as m order by version"

/** Must agree with partition_room() and make_partitions_ahead(). */
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

/** No permission to create a schema or a table. */
const NOT_ALLOWED = '42501'

/**
 * Upgrades the namespace's tables, installs this version's functions beside them, and returns the version that the
 * tables had. Processes that start at once wait for the first, and find it done.
 */
export async function migrate(database: Database): Promise<number> {
  await checkServer(database)
  const found = await schemaVersion(database)
  if (found === NEWEST && (await useFunctions(database))) return found
  try {
    return await database.transaction(null, bringUpToDate, REWRITE_TIMEOUT_MS)
  } catch (error) {
    const isRefused = codeOf(error instanceof Error ? error.cause : error) === NOT_ALLOWED
    throw isRefused ? notAllowedError(database, found, error) : error
  }
}

/** As an operator does it: also passes on newer grants, creates partitions ahead, and drops unused functions. */
export async function migrateAndTidy(database: Database): Promise<number> {
  const found = await migrate(database)
  if (!(await areFunctionsShared(database))) await database.transaction(null, bringUpToDate)
  await database.maintenance(null, makePartitionsAhead)
  await dropUnusedFunctions(database)
  return found
}

async function bringUpToDate(tx: Transaction): Promise<number> {
  await tx.query('select pg_advisory_xact_lock($1)', [migrationLock(tx.schema)])
  const present = await presentOf(tx)
  await tx.exec(upgradeSql(tx, present))
  return present.version
}

async function makePartitionsAhead(tx: Transaction): Promise<void> {
  await tx.query(tx.sql('select tidemark_fn.make_partitions_ahead()'))
}

/** The SQL that `migrate` would run, for psql; '' if everything is up to date. Read-only. */
export async function migrationSql(statements: Statements): Promise<string> {
  await checkServer(statements)
  const present = await presentOf(statements)
  const isReady = present.version === NEWEST && present.hasFunctions && present.hasGrants
  const isShort = present.version > 0 && (await runsShort(statements))
  if (isReady && !isShort) return ''
  return [
    `-- Tidemark: schema ${statements.schema}, from version ${present.version} to ${NEWEST}, with functions in ${statements.functions}`,
    'begin;',
    `select pg_advisory_xact_lock(${migrationLock(statements.schema)});`,
    upgradeSql(statements, present),
    ...(isShort ? [statements.sql('select tidemark_fn.make_partitions_ahead();')] : []),
    'commit;\n',
  ].join('\n')
}

/** Uses the catalogue alone: the functions may be missing, or of another version. */
async function runsShort(statements: Statements): Promise<boolean> {
  const rows = await statements.query(statements.sql(RUNS_SHORT))
  return rows.length > 0
}

async function presentOf(statements: Statements): Promise<Present> {
  const schemas = await statements.query('select from pg_namespace where nspname = $1', [statements.schema])
  return {
    hasSchema: schemas.length > 0,
    version: usableVersion(statements, await appliedMigrations(statements)),
    hasFunctions: await areFunctionsInstalled(statements),
    hasGrants: await areFunctionsShared(statements),
  }
}

async function checkServer(statements: Statements): Promise<void> {
  const [row] = await statements.query('show server_version_num')
  const version = Number(row?.server_version_num)
  if (version >= OLDEST_SERVER) return
  throw new DatabaseVersionError(
    `PostgreSQL at ${statements.location} is version ${Math.floor(version / 10_000)}; Tidemark needs 14 or later. ` +
      `Upgrade the server, or use a SQLite database`,
  )
}

/**
 * 0 if there is no schema yet. Takes no lock, so that a start on an up-to-date schema needs no permission to create.
 */
export async function schemaVersion(statements: Statements): Promise<number> {
  return usableVersion(statements, await appliedMigrations(statements))
}

/** Read-only, and refuses nothing. */
export async function findSchema(statements: Statements): Promise<{ version: number; isPreRelease: boolean }> {
  const applied = await appliedMigrations(statements)
  return { version: applied.at(-1)?.version ?? 0, isPreRelease: isPreRelease(applied, CHECKSUMS) }
}

async function appliedMigrations(statements: Statements): Promise<AppliedMigration[]> {
  const table = `${quoteIdentifier(statements.schema)}.migration`
  const there = await statements.query('select from (select to_regclass($1) as oid) as c where oid is not null', [
    table,
  ])
  if (there.length === 0) return []
  return (await statements.query(statements.sql(APPLIED))).map(toApplied)
}

const toApplied = ({ version, checksum }: Row): AppliedMigration => ({
  version: Number(version),
  checksum: checksum ?? null,
})

/** 0 if nothing was applied. */
function usableVersion(statements: Statements, applied: readonly AppliedMigration[]): number {
  const version = applied.at(-1)?.version ?? 0
  if (version > NEWEST) throw newerError(statements, version)
  if (!isPreRelease(applied, CHECKSUMS)) return version
  const schema = quoteIdentifier(statements.schema)
  throw preReleaseError(
    `Schema ${statements.schema} at ${statements.location}`,
    `Drop it with 'drop schema ${schema} cascade' if its messages are not needed, or use another namespace`,
  )
}

function newerError(statements: Statements, version: number): DatabaseVersionError {
  return new DatabaseVersionError(
    `Schema ${statements.schema} at ${statements.location} was written by a newer Tidemark (schema version ${version}, ` +
      `this one knows ${NEWEST}). Upgrade this process`,
  )
}

function notAllowedError(statements: Statements, found: number, cause: unknown): DatabaseVersionError {
  const missing =
    found === 0
      ? `There is no namespace in schema ${statements.schema} at ${statements.location}`
      : `Schema ${statements.schema} at ${statements.location} lacks a part that this version of Tidemark needs (schema version ` +
        `${NEWEST}, functions in schema ${statements.functions})`
  return new DatabaseVersionError(
    `${missing}, and this user may not create it. Grant it CREATE on the database, run 'tidemark migrate' of this version as ` +
      `a user that has that right, or have an administrator run what 'tidemark migrate --sql' prints`,
    cause,
  )
}
