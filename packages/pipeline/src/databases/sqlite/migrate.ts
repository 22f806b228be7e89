import { existsSync } from 'node:fs'
import { IndexNotFoundError } from '../errors.ts'
import { migrationsOf, readSqlFiles, refuseNewer } from '../sql/migrations.ts'
import type { SqliteConnection } from './connection.ts'
import { mapError } from './engine-errors.ts'
import { DatabaseSync } from './node-sqlite.ts'

const MIGRATIONS = migrationsOf(readSqlFiles(new URL('.', import.meta.url)))

const READ_TIMEOUT_MS = 5_000

const CREATE_MIGRATION = `
  create table if not exists index_migration (version integer primary key, applied_at integer not null)`

/** Brings the file up to date. Processes that start together wait for the write lock. */
export async function migrate(connection: SqliteConnection): Promise<void> {
  const newest = MIGRATIONS.at(-1)?.version ?? 0
  await connection.transaction(async tx => {
    await tx.run(CREATE_MIGRATION)
    const [row] = await tx.rows<{ current: number }>('select coalesce(max(version), 0) as current from index_migration')
    const current = row?.current ?? 0
    refuseNewer(`at ${connection.path}`, current, newest)
    for (const { version, sql } of MIGRATIONS) {
      if (version <= current) continue
      connection.exec(sql)
      await tx.run('insert into index_migration (version, applied_at) values (?1, ?2)', version, Date.now())
    }
  })
}

/** 0 if there is none. Changes nothing. */
export function versionsOf(path: string): { found: number; newest: number } {
  const newest = MIGRATIONS.at(-1)?.version ?? 0
  if (!existsSync(path)) return { found: 0, newest }
  try {
    using db = new DatabaseSync(path, { readOnly: true, timeout: READ_TIMEOUT_MS })
    const there = db.prepare("select 1 from sqlite_schema where name = 'index_migration'").get()
    const row = there && db.prepare('select coalesce(max(version), 0) as version from index_migration').get()
    return { found: Number(row?.version ?? 0), newest }
  } catch (error) {
    throw mapError(error, path)
  }
}

/** For an index that is only read: the schema is not changed, and refused only if this version can't know it. */
export async function checkVersion(connection: SqliteConnection, runId: string): Promise<void> {
  // A file that is being created.
  if (!(await connection.hasTable('index_migration'))) throw new IndexNotFoundError(runId, connection.path)
  const [row] = await connection.read<{ version: number }>(
    'select coalesce(max(version), 0) as version from index_migration',
  )
  refuseNewer(`at ${connection.path}`, row?.version ?? 0, MIGRATIONS.at(-1)?.version ?? 0)
}
