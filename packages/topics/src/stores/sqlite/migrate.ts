import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseVersionError } from '../../errors.ts'
import { type Connection, requiredRow, rowsOf } from './connection.ts'

const FOLDER = new URL('./migrations/', import.meta.url)

const CREATE_MIGRATION = `
  create table if not exists tidemark_migration (version integer primary key, applied_at integer not null)`

/**
 * Brings the file to this version's schema, and gives the version it had. Processes that start together queue up behind
 * the write lock.
 */
export async function migrate(connection: Connection): Promise<number> {
  const migrations = readMigrations()
  const newest = newestVersion(migrations)
  return await connection.write(true, () => {
    connection.exec(CREATE_MIGRATION)
    const { current } = requiredRow<{ current: number }>(
      connection.prepare('select coalesce(max(version), 0) as current from tidemark_migration'),
    )
    if (current > newest) {
      throw new DatabaseVersionError(
        `The file at ${connection.path} was written by a newer Tidemark (schema ${current}; this one knows ${newest}). ` +
          `Update tidemark`,
      )
    }
    for (const { version, sql } of migrations) {
      if (version <= current) continue
      connection.exec(sql)
      connection
        .prepare('insert into tidemark_migration (version, applied_at) values (?, ?)')
        .run(version, connection.now())
    }
    return current
  })
}

export const newestVersion = (migrations = readMigrations()): number => migrations.at(-1)?.version ?? 0

function readMigrations(): { version: number; sql: string }[] {
  return readdirSync(FOLDER)
    .filter(name => name.endsWith('.sql'))
    .sort()
    .map(name => ({ version: Number.parseInt(name, 10), sql: readFileSync(new URL(name, FOLDER), 'utf8') }))
}

/** Everything Tidemark ever made in the file, and nothing else; to be called in a write transaction. */
export function dropTables(connection: Connection): void {
  // The newest first: a table can't be emptied for the drop once the one it refers to is gone.
  const made = rowsOf<{ type: string; name: string }>(
    connection.prepare(`
      select type, name from sqlite_schema
      where type in ('table', 'view') and name like 'tidemark\\_%' escape '\\'
      order by rowid desc`),
  )
  connection.exec('pragma defer_foreign_keys = on')
  for (const { type, name } of made) connection.exec(`drop ${type} "${name}"`)
}
