import { DatabaseVersionError } from '../../errors.ts'
import type { Database } from './database.ts'
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
]

export const NEWEST = MIGRATIONS.length

/**
 * Brings the namespace's schema up to date, and gives the version it had. Processes that start at once wait for the
 * first, and find it done.
 */
export async function migrate(database: Database): Promise<number> {
  await checkServer(database)
  const found = await schemaVersion(database)
  refuseNewer(database, found)
  if (found === NEWEST) return found
  return await database.transaction(async client => {
    await client.query('select pg_advisory_xact_lock($1)', [lockKey(database.schema, 'migrate')])
    // "if not exists" alone asks for the right to create even where an administrator has made the schema.
    const schema = quoteIdentifier(database.schema)
    const { rows: there } = await client.query('select from pg_namespace where nspname = $1', [database.schema])
    if (there.length === 0) await client.query(`create schema if not exists ${schema}`)
    await client.query(
      database.sql(
        'create table if not exists tidemark.migration (version int primary key, applied_at timestamptz not null default clock_timestamp())',
      ),
    )
    const { rows } = await client.query<{ version: number }>(
      database.sql('select coalesce(max(version), 0) as version from tidemark.migration'),
    )
    const version = rows[0]?.version ?? 0
    refuseNewer(database, version)
    for (const [index, file] of MIGRATIONS.entries()) {
      if (index < version) continue
      await client.query(database.sql(sqlFile(`./migrations/${file}`)))
      await client.query(database.sql('insert into tidemark.migration (version) values ($1)'), [index + 1])
    }
    return version
  })
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
  const [there] = await database.query('select to_regclass($1) is not null as there', [
    `${quoteIdentifier(database.schema)}.migration`,
  ])
  if (there?.there !== 't') return 0
  const [row] = await database.query(
    database.sql('select coalesce(max(version), 0) as version from tidemark.migration'),
  )
  return Number(row?.version)
}

function refuseNewer(database: Database, version: number): void {
  if (version <= NEWEST) return
  throw new DatabaseVersionError(
    `Schema ${database.schema} at ${database.location} was written by a newer Tidemark (schema version ${version}, ` +
      `this one knows ${NEWEST}). Upgrade this process`,
  )
}
