import { globSync, readFileSync } from 'node:fs'

/** The text of each .sql file by its path in an engine's folder, such as `schema/001_tables.sql`. */
export type SqlFiles = { readonly [path: string]: string }

/** Only when running from source: the published build replaces the call with the text (build/inline-files.ts). */
export function readSqlFiles(folder: URL): SqlFiles {
  const paths = globSync('**/*.sql', { cwd: folder }).sort()
  return Object.fromEntries(paths.map(path => [path, readFileSync(new URL(path, folder), 'utf8')]))
}
