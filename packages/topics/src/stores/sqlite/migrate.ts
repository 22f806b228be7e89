import { DatabaseVersionError } from '../../errors.ts'
import { type AppliedMigration, checksumOf, isPreRelease, preReleaseError } from '../migration-checksums.ts'
import { readSqlFiles, type SqlFiles } from '../read-sql-files.ts'
import { createLogText } from './configure-topic.ts'
import type { Connection } from './connection.ts'
import type { SqliteStatement } from './driver.ts'
import { rowsOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

const FILES: SqlFiles = readSqlFiles(new URL('.', import.meta.url))

const CREATE_MIGRATION = `
  create table if not exists tidemark_migration (
    version integer primary key, checksum text not null, applied_at integer not null
  )`

/**
 * Upgrades the file to this version's schema, and returns the version it had. Processes that start together queue for
 * the write lock.
 */
export async function migrate(connection: Connection): Promise<number> {
  const migrations = readMigrations()
  return await connection.write(true, () => {
    connection.exec(CREATE_MIGRATION)
    const current = usableVersion(
      connection.path,
      appliedMigrations(sql => connection.prepare(sql)),
    )
    for (const { version, checksum, sql } of migrations) {
      if (version <= current) continue
      connection.exec(sql)
      connection
        .prepare('insert into tidemark_migration (version, checksum, applied_at) values (?, ?, ?)')
        .run(version, checksum, Date.now())
    }
    return current
  })
}

/** The SQL that `migrate` would run on a file of this version, for the `sqlite3` shell; '' if it is up to date. */
export function migrationSql(path: string, current: number): string {
  const pending = readMigrations().filter(({ version }) => version > current)
  if (pending.length === 0) return ''
  return [
    `-- Tidemark: the file ${path.replaceAll(/\s/g, ' ')}, from version ${current} to ${newestVersion()}`,
    'pragma journal_mode = wal;',
    'begin immediate;',
    `${CREATE_MIGRATION};`,
    ...pending.flatMap(({ version, checksum, sql }) => [
      sql,
      `insert into tidemark_migration (version, checksum, applied_at) values (${version}, '${checksum}', unixepoch() * 1000);`,
    ]),
    'commit;\n',
  ].join('\n')
}

export const newestVersion = (migrations = readMigrations()): number => migrations.at(-1)?.version ?? 0

/** Empty if there is no namespace. Selects all columns, because a pre-release table has no checksum. */
export function appliedMigrations(prepare: (sql: string) => SqliteStatement): AppliedMigration[] {
  const there = prepare("select 1 from sqlite_schema where name = 'tidemark_migration'").get()
  if (there === undefined) return []
  const rows = rowsOf<Partial<AppliedMigration>>(prepare('select * from tidemark_migration order by version'))
  return rows.map(({ version = 0, checksum = null }) => ({ version, checksum }))
}

export const isOfPreRelease = (applied: readonly AppliedMigration[]): boolean =>
  isPreRelease(
    applied,
    readMigrations().map(({ checksum }) => checksum),
  )

/** 0 if nothing was applied; refuses a schema that this code can't use. */
export function usableVersion(path: string, applied: readonly AppliedMigration[]): number {
  const version = applied.at(-1)?.version ?? 0
  const newest = newestVersion()
  if (version > newest) {
    throw new DatabaseVersionError(
      `The file at ${path} was written by a newer Tidemark (schema ${version}; this one knows ${newest}). ` +
        `Update tidemark`,
    )
  }
  if (!isOfPreRelease(applied)) return version
  throw preReleaseError(
    `The namespace in the file ${path}`,
    'Delete the file if nothing in it is needed, or name another file or namespace',
  )
}

type Migration = { readonly version: number; readonly checksum: string; readonly sql: string }

let read: Migration[] | undefined

function readMigrations(): Migration[] {
  read ??= Object.entries(FILES).map(([path, sql]) => {
    // The tables created with each topic are part of the schema too.
    return { version: versionOf(path), checksum: checksumOf(sql + createLogText(0)), sql }
  })
  return read
}

/** `schema/001_initial.sql` */
const versionOf = (path: string): number => Number.parseInt(path.slice(path.lastIndexOf('/') + 1), 10)

/** Drops everything Tidemark ever created in the file, and nothing else. Call it in a write transaction. */
export function dropTables(tx: Transaction): void {
  // Newest first: a table can't be emptied for the drop once the one it references is gone.
  const made = rowsOf<{ type: string; name: string }>(
    tx.prepare(`
      select type, name from sqlite_schema
      where type in ('table', 'view') and name like 'tidemark\\_%' escape '\\'
      order by rowid desc`),
  )
  tx.exec('pragma defer_foreign_keys = on')
  for (const { type, name } of made) tx.exec(`drop ${type} "${name}"`)
}
