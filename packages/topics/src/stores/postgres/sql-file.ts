import { readFileSync } from 'node:fs'

/** The text of a .sql file beside these sources. */
export const sqlFile = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
