import { readSqlFiles, type SqlFiles } from '../read-sql-files.ts'

const FILES: SqlFiles = readSqlFiles(new URL('.', import.meta.url))

/** The text of a .sql file beside these sources. */
export function sqlFile(path: string): string {
  const text = FILES[path.replace(/^\.\//, '')]
  if (text === undefined) throw new Error(`There is no SQL file '${path}'`)
  return text
}
