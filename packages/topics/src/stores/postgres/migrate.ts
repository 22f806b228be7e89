import { DatabaseVersionError } from '../../errors.ts'
import { type AppliedMigration, checksumOf, isPreRelease, preReleaseError } from '../migration-checksums.ts'
import { type Database, REWRITE_TIMEOUT_MS, type Row } from './database.ts'
import { lockKey, quoteIdentifier } from './schema-name.ts'
import { sqlFile } from './sql-file.ts'

export const OLDEST_SERVER = 140_000

/** Each file is a version of the schema, in this order. A file that was released is never edited. */
const MIGRATIONS = [
  '001_tables.sql',
  '002_cursor.sql',
  '003_failures.sql',
  '004_claim.sql',
  '005_settle.sql',
  '006_subscribe.sql',
  '007_describe.sql',
  '008_log.sql',
  '009_life_cycle.sql',
  '010_clean_up.sql',
  '011_zombies.sql',
  '012_tracking.sql',
  '013_switching.sql',
  '014_backfill.sql',
  '015_admin.sql',
  '016_restore.sql',
  '017_claims.sql',
  '018_stats.sql',
]

export const NEWEST = MIGRATIONS.length

const readMigration = (file: string): string => sqlFile(`./migrations/${file}`)
const CHECKSUMS = MIGRATIONS.map(file => checksumOf(readMigration(file)))

/** Through to_jsonb, because that of a pre-release has no checksum. */
const APPLIED = "select version, to_jsonb(m) ->> 'checksum' as checksum from tidemark.migration as m order by version"

/**
 * Brings the namespace's schema up to date, and gives the version it had. Processes that start at once wait for the
 * first, and find it done.
 */
export async function migrate(database: Database): Promise<number> {
  await checkServer(database)
  const found = await schemaVersion(database)
  if (found === NEWEST) return found
  return await database.transaction(async client => {
    await client.query('select pg_advisory_xact_lock($1)', [lockKey(database.schema, 'migrate')])
    // "if not exists" alone asks for the right to create even where an administrator has made the schema.
    const schema = quoteIdentifier(database.schema)
    const { rows: there } = await client.query('select from pg_namespace where nspname = $1', [database.schema])
    if (there.length === 0) await client.query(`create schema if not exists ${schema}`)
    await client.query(
      database.sql(
        'create table if not exists tidemark.migration (version int primary key, checksum text not null, applied_at timestamptz not null default clock_timestamp())',
      ),
    )
    const { rows } = await client.query<Row>(database.sql(APPLIED))
    const version = usableVersion(database, rows.map(toApplied))
    for (const [index, file] of MIGRATIONS.entries()) {
      if (index < version) continue
      await client.query(database.sql(readMigration(file)))
      const applied = [index + 1, CHECKSUMS[index]]
      await client.query(database.sql('insert into tidemark.migration (version, checksum) values ($1, $2)'), applied)
    }
    return version
  }, REWRITE_TIMEOUT_MS)
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
