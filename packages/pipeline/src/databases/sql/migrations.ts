import { globSync, readFileSync } from 'node:fs'
import { IndexVersionError } from '../errors.ts'

type Migration = { readonly version: number; readonly sql: string }

type SqlFiles = Readonly<Record<string, string>>

/** Only when running from source: the published build replaces the call with the text (build/inline-files.ts). */
export const readSqlFiles = (folder: URL): SqlFiles =>
  Object.fromEntries(
    Array.from(globSync('migrations/*.sql', { cwd: folder }).sort(), name => [name, textOf(new URL(name, folder))]),
  )

const textOf = (file: URL): string => readFileSync(file, 'utf8')

/** An engine's `migrations/001_tables.sql` and so on, in order. */
export function migrationsOf(files: SqlFiles): Migration[] {
  const versionOf = (path: string): number => Number.parseInt(path.slice(path.lastIndexOf('/') + 1), 10)
  return Object.entries(files).map(([path, sql]) => ({ version: versionOf(path), sql }))
}

export function refuseNewer(index: string, version: number, newest: number): void {
  if (version <= newest) return
  throw new IndexVersionError(
    `The index ${index} was written by a newer version (schema ${version}; this one knows ${newest}). ` +
      `Update @tidemark/pipeline`,
  )
}
